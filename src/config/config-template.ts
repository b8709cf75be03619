interface TemplateOptions {
  /** The argon2id hash of the one user, `admin`. */
  readonly adminPasswordHash: string;
}

/**
 * The commented configuration that `init` writes and gateway.example.yaml shows: every key, with its default.
 * Prose begins with "# " and a letter; every other line with # in its first column is a setting, put in force by deleting that #.
 */
export function configTemplate({ adminPasswordHash }: TemplateOptions): string {
  return [head, server, store, access(adminPasswordHash), outbound, adapters, audit].join('\n');
}

const head = `# Configuration of the Orchestration Gateway. Every key is explained in docs/reference/configuration.md.
# Check this file with: orchestration-gateway check-config FILE
#
# A line that begins with # and a key is a setting that is not in force; where the key has a default, that is the value shown.
# Delete the # to change it. Relative paths start at the directory of this file.
# Durations are written 500ms, 30s, 5m, 1h or 90d; sizes 64KiB, 10MiB or 1GiB.
# A secret (password, token) is { env: NAME } or { file: PATH }; plain text works, with a warning at every start.
`;

const server = `server:
  host: 127.0.0.1 # 0.0.0.0 or "::" listens on every interface: then set tls, or put a TLS proxy in front
  port: 3000 # 0 takes a free port, which the ready line prints
#  tls: { certFile: cert.pem, keyFile: key.pem } # PEM files; serves HTTPS instead of HTTP
#  requestBodyLimit: 10MiB # largest request body
#  openMetrics: false # true: /metrics needs no credentials
#  trustedProxies: [] # addresses or CIDRs of proxies whose X-Forwarded-For is believed
#  rateLimit: { calls: 1000, per: 1s } # calls of each principal; off where absent
#  logLevel: info # fatal, error, warn, info, debug or trace
`;

const store = `store:
  # A file of this machine (the audit log is beside it, in gateway.audit.db), or postgres://user@host/database, which several gateways can share.
  url: sqlite:./data/gateway.db
`;

function access(adminPasswordHash: string): string {
  return `# Who may call. Roles: admin, engineering, other, readonly, apiread.
access:
#  tokenLifetime: 1h # of sessions and access tokens
  users:
    - username: admin
      # Make another with: orchestration-gateway hash-password
      passwordHash: '${adminPasswordHash}'
      roles: [admin]
      groups: [] # named by the access lists of automations
  # Programs that fetch a token from /oauth/token with OAuth client credentials.
#  clients:
#    - clientId: reporting
#      secretHash: '$argon2id$v=19$...' # made like a passwordHash
#      roles: [apiread]
#      groups: []
  # OpenID Connect issuers whose bearer tokens are accepted.
#  oidc:
#    - issuer: https://login.example.net/realms/network # exactly as its tokens name it
#      audience: orchestration-gateway
#      rolesClaim: roles
#      groupsClaim: groups
#      algorithms: [RS256, ES256, EdDSA]
`;
}

const outbound = `# What POST /tools/restCall may reach. Public addresses are open unless denied, all others closed unless allowed.
#outbound:
#  allow: [] # e.g. [10.0.0.0/8, "*.lab.example.net", "127.0.0.1:9000", "[::1]:9000"]
#  deny: [] # same form; wins over allow
#  timeouts: { dns: 3s, connect: 5s, firstByte: 30s, idle: 15s, total: 30s } # idle: longest pause within a reply
#  responseLimit: 64MiB # after decompression
#  redirects: 5
#  tls: { caFile: ca.pem, certFile: client.pem, keyFile: client.key } # caFile replaces the usual authorities
#  proxy:
#    url: http://proxy.example.net:3128
#    username: gateway
#    password: { env: PROXY_PASSWORD }
#    resolves: false # true: the proxy resolves names, and decides what they may reach
`;

const adapters = `# Orchestrators by name: POST /orchestrator_manager/restQuery/Local%20NSO
#adapters:
#  - name: Local NSO
#    kind: nso # nso, restconf (any RFC 8040 server) or rest (anything else that speaks HTTP)
#    url: https://nso.example.net:8888 # params.path is joined to it
#    auth: { type: basic, username: gateway, password: { env: NSO_PASSWORD } }
#    timeouts: { dns: 3s, connect: 5s, firstByte: 300s, idle: 60s, total: 300s }
#    responseLimit: 1GiB
#    concurrency: 16 # calls in flight
#    queue: 1000 # calls waiting; beyond it 503
#    health: { interval: 30s } # or off: judged by the calls alone
#    breaker: { failures: 5, openFor: 10s }
#    allowPaths: { actions: ["**"], queries: ["**"] } # globs: * within a segment, ** across segments
#    denyPaths: { actions: [], queries: [] } # wins over allowPaths
#    tls: # verify: false accepts any certificate, and is warned about at every start
#      { caFile: ca.pem, certFile: client.pem, keyFile: client.key, serverName: nso.example.net, verify: true }
#    proxy: { url: http://proxy.example.net:3128, username: gateway, password: { env: PROXY_PASSWORD }, resolves: false }
  # Other ways to authenticate; without auth the gateway presents no credentials.
#  - { name: Bearer, kind: restconf, url: https://a.example.net, auth: { type: bearer, token: { env: API_TOKEN } } }
#  - { name: Header, kind: rest, url: https://b.example.net, auth: { type: header, name: X-Api-Key, value: { env: API_TOKEN } } }
#  - { name: Open, kind: rest, url: http://c.example.net, auth: { type: none } }
  # Several addresses of one orchestrator, NSO's X-Auth-Token (renewed from its replies) and OAuth client credentials.
#  - name: Renewed token
#    kind: nso
#    urls: [https://nso-1.example.net:8888, https://nso-2.example.net:8888]
#    auth: { type: token, token: { env: API_TOKEN } }
#  - name: OAuth
#    kind: rest
#    url: https://d.example.net
#    auth:
#      type: oauth2
#      tokenUrl: https://login.example.net/token
#      clientId: gateway
#      clientSecret: { env: API_TOKEN }
#      scope: orchestrate
`;

const audit = `#audit:
#  retention: 90d
#  maxSize: 10GiB # beyond that the oldest records go earlier
#  checkpointFile: checkpoints # signed checkpoints of the audit log, to be kept elsewhere
`;
