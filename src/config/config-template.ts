interface TemplateOptions {
  /** The argon2id hash of the one user, `admin`. */
  readonly adminPasswordHash: string;
  /** How this program is called. */
  readonly program?: string;
  /** Default: a file next to the configuration. */
  readonly storeUrl?: string | undefined;
}

const usualStore = 'sqlite:./data/gateway.db';

/**
 * The commented configuration that `init` writes, also in gateway.example.yaml: every key with its default.
 * Prose begins with "# " and a letter. Any other line with # in its first column is a setting; deleting the # turns the setting on.
 */
export function configTemplate({
  adminPasswordHash,
  program = 'orchestration-gateway',
  storeUrl = usualStore,
}: TemplateOptions): string {
  return [
    head(program),
    server,
    store.replace(usualStore, storeUrl),
    vault,
    access(adminPasswordHash, program),
    outbound,
    adapters,
    audit,
    automations,
    approvals,
    notifications,
    mcp,
  ].join('\n');
}

function head(program: string): string {
  return `# Configuration of the Orchestration Gateway. docs/reference/configuration.md explains every key.
# Check this file with: ${program} check-config FILE
#
# A line that begins with # and a key is a setting that is off. The value is the default, if the key has a default.
# Delete the # to turn the setting on. Relative paths start at the directory of this file.
# Durations have the form 500ms, 30s, 5m, 1h or 90d; sizes have the form 64KiB, 10MiB or 1GiB.
# A secret (password, token) is { env: NAME }, { file: PATH }, or another source that the reference names.
# Plain text works too, with a warning at every start.
`;
}

const server = `server:
  host: 127.0.0.1 # 0.0.0.0 or "::" listens on every interface: then set tls, or use a TLS proxy in front
  port: 3000 # 0: the gateway takes a free port and prints it
#  tls: { certFile: cert.pem, keyFile: key.pem } # PEM files; with them the gateway serves HTTPS
#  requestBodyLimit: 10MiB # largest request body
#  openMetrics: false # true: /metrics needs no credentials
#  console: true # false: the gateway serves no web console
#  trustedProxies: [] # addresses or CIDRs of proxies whose X-Forwarded-For the gateway trusts
#  publicUrl: https://gateway.example.net # where callers reach the gateway, if a proxy that ends TLS is in front
#  drain: 30s # how long calls in flight may take to end after SIGTERM, at most 10m
#  rateLimit: { calls: 1000, per: 1s } # calls of each principal; without the key there is no limit
#  logLevel: info # fatal, error, warn, info, debug or trace
`;

const store = `store:
  # A local file, with the audit log next to it in gateway.audit.db; or postgres://user@host/database for several gateways.
  url: ${usualStore}
#  startTimeout: 60s # how long a start waits for a PostgreSQL that does not answer yet, or for another gateway on the SQLite file; 0: it does not
`;

const vault = `#vault: # secrets from HashiCorp Vault or OpenBao, as { vault: secret/noc/nso, key: password }
#  url: https://vault.example.net:8200
#  namespace: network
#  caFile: ca.pem
#  auth: { appRole: { roleId: gateway, secretId: { env: VAULT_SECRET_ID } } } # or kubernetes: { role }, or token: { value }
`;

function access(adminPasswordHash: string, program: string): string {
  return `# Users, clients and issuers that may call the gateway. Roles: admin, engineering, other, readonly, apiread,
# and your own.
access:
#  tokenLifetime: 1h # lifetime of sessions and access tokens
  users:
    - username: admin
      # For another password, use the output of: ${program} hash-password
      passwordHash: '${adminPasswordHash}'
      roles: [admin]
      groups: [] # for the access lists of automations
  # Programs that get a token from /oauth/token with OAuth client credentials.
#  clients:
#    - clientId: reporting
#      secretHash: '$argon2id$v=19$...' # output of hash-password for the client secret
#      roles: [apiread]
#      groups: []
#      tokenLifetime: 1h # in place of access.tokenLifetime
  # OpenID Connect issuers whose bearer tokens the gateway accepts.
#  oidc:
#    - issuer: https://login.example.net/realms/network # the exact iss claim of its tokens
#      audience: orchestration-gateway
#      rolesClaim: roles
#      groupsClaim: groups
#      groupNames: {} # for directories that send ids, e.g. { 9f1c6a52-7d10-4b5e: noc }; with it any other value is no group
#      algorithms: [RS256, ES256, EdDSA]
#      remember: 30d # how long the roles and groups of a person's last token count for its schedules and workflows
#      consoleClientId: gateway-console # people log in to the console by this issuer
#      consoleClientSecret: { env: CONSOLE_CLIENT_SECRET } # without it the console is a public client
  # Roles of your own add rights to operations, by their operationId. Without routes a right is about the four that relay calls.
  # Any other empty list matches anything.
#  roles:
#    - name: noc
#      allows:
#        - { routes: [restQuery], adapters: [Local NSO], paths: ["restconf/data/tailf-ncs:devices/**"], methods: [] }
#        - { routes: [restCall], destinations: [tickets.example.net], via: [run] } # in runs alone
#        - { routes: [listAutomations, runAutomation, listRuns, readRun], workflows: ["noc.*"] }
#  groupRoles: {} # e.g. { noc-leads: [engineering] }: roles of the members of a group
  # Principals by their ids: user name, client id, or 'oidc:["ISSUER","SUBJECT"]'.
#  persons: {} # e.g. { ann: [ann, ann-cli] }: the principals of one person, who counts once in an approval
#  blocked: [] # principals that may do nothing any more
`;
}

const outbound = `# Destinations of POST /tools/restCall. Public addresses are allowed unless denied; all others are denied unless allowed.
#outbound:
#  allow: [] # e.g. [10.0.0.0/8, "*.lab.example.net", "127.0.0.1:9000", "[::1]:9000"]
#  deny: [] # same form as allow; deny has precedence
#  timeouts: { dns: 3s, connect: 5s, firstByte: 30s, idle: 15s, total: 30s } # idle: longest pause between two bytes of a reply
#  responseLimit: 64MiB # after decompression
#  redirects: 5
#  tls: { caFile: ca.pem, certFile: client.pem, keyFile: client.key } # caFile replaces the default certificate authorities
#  proxy:
#    url: http://proxy.example.net:3128
#    username: gateway
#    password: { env: PROXY_PASSWORD }
#    resolves: false # true: the proxy resolves names, and the gateway does not check their addresses
`;

const adapters = `# Adapter instances. Their names are in the URLs: POST /orchestrator_manager/restQuery/Local%20NSO
#adapters:
#  - name: Local NSO
#    kind: nso # nso, restconf (any RFC 8040 server) or rest (any other HTTP server)
#    url: https://nso.example.net:8888 # base address, before params.path
#    auth: { type: basic, username: gateway, password: { env: NSO_PASSWORD } }
#    timeouts: { dns: 3s, connect: 5s, firstByte: 300s, idle: 60s, total: 300s }
#    responseLimit: 1GiB
#    concurrency: 16 # calls in flight at each address
#    queue: 1000 # calls that may wait for a slot; further calls get 503
#    health: { interval: 30s } # with off only the results of calls count
#    breaker: { failures: 5, openFor: 10s }
#    allowPaths: { actions: ["**"], queries: ["**"] } # globs: * matches within a segment, ** across segments
#    denyPaths: { actions: [], queries: [] } # denyPaths has precedence
#    readActions: ["**/check-sync"] # POST actions that change nothing, so that a run may repeat them
#    stamp: false # true: changes of configuration name the person, in label and comment of the commit
#    tls: # with verify: false the gateway accepts any certificate, and logs a warning at every start
#      { caFile: ca.pem, certFile: client.pem, keyFile: client.key, serverName: nso.example.net, verify: true }
#    proxy: { url: http://proxy.example.net:3128, username: gateway, password: { env: PROXY_PASSWORD }, resolves: false }
  # Other ways to authenticate. Without auth the gateway sends no credentials.
#  - { name: Bearer, kind: restconf, url: https://a.example.net, auth: { type: bearer, token: { env: API_TOKEN } } }
#  - { name: Header, kind: rest, url: https://b.example.net, auth: { type: header, name: X-Api-Key, value: { env: API_TOKEN } } }
#  - { name: Open, kind: rest, url: http://c.example.net, auth: { type: none } }
  # Several addresses of one orchestrator; X-Auth-Token of NSO, which replies renew; OAuth client credentials.
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
  # NSO sees the person: each call has a signed assertion of its caller, which deploy/nso/verify-assertion verifies at NSO.
#  - name: Callers
#    kind: nso
#    url: https://nso.example.net:8888
#    auth:
#      type: caller
#      carrier: token # or basic; for kinds restconf and rest bearer
#      key: { file: nso-assertion.pem } # RSA of 2048 bits or more, or Ed25519
#      audience: Callers # default: the name of the adapter
#      users: {} # names at the orchestrator by principal id, e.g. { 'oidc:["https://login.example.net","4711"]': ann }
#      userClaims: { 'https://login.example.net/realms/network': preferred_username } # the claim of an issuer that is the name
#      groups: {} # e.g. { 'group:noc': ncsoper, 'role:admin': ncsadmin }; no other group is sent
#      authors: ["role:admin"] # whose workflows run with all groups of the starter
#      runs: starter # or owner: in whose name the calls of a run are made
#      service: { type: basic, username: probe, password: { env: NSO_PASSWORD } } # for probes and the YANG library alone
`;

const audit = `#audit:
#  retention: 90d
#  maxSize: 1GiB # beyond it the gateway deletes the oldest records before retention ends
#  bodies: changes # or none: whether the gateway keeps what changes sent, masked
#  bodiesMaxSize: 1GiB # beyond it, and beyond a tenth for one person, the oldest bodies go
#  mask: [password, passphrase, secret, community, token, key-string] # members with such names are *** in the bodies
#  key: { env: AUDIT_KEY } # proves approvals; the same on all gateways. Default: a file next to a SQLite store
#  checkpointFile: checkpoints # signed checkpoints of the audit log; keep them on another machine
`;

const automations = `#automations:
#  tasks: 32 # tasks of runs that this gateway does at once; with 0 it does none
#  retention: 30d # how long the gateway keeps runs that have ended
#  taskData: true # whether the gateway keeps what each task got and gave
#  storePerPerson: 2GiB # what the runs, events, approvals and documents of one person may take of the store
#  afterLoss: hold # or continue: runs that were under way when PostgreSQL lost commits
#  secrets: # for $secrets of workflows: where each may go, and who may write what uses it
#    ticketToken:
#      value: { env: TICKET_TOKEN }
#      workflows: ['noc.*'] # globs of the ids of workflows
#      writers: # of workflows that use it, and of automations that run them
#        roles: [admin]
#        groups: [noc-authors]
#      destinations: ['https://tickets.example.net/api/'] # with the beginning of the path
#      adapters: [] # adapter instances whose calls may carry it
#      places: [authentication, 'header:Authorization'] # also header:NAME, query, path and body
`;

const approvals = `# Calls that people must approve before they leave. An empty list matches anything.
#approvals:
#  - name: core-changes
#    when: { routes: [restAction, restRequest], adapters: [Local NSO], paths: ["**/sync-to"], methods: [POST], roles: [], via: [] }
#    approvers: { roles: [admin], groups: [noc-leads] }
#    count: 1 # how many different people must grant
#    selfApproval: false # authors: who only wrote the automation, the workflow or the form may grant; true: everybody may
#    expires: 4h # the time in which the call must be granted and made
#    covers: call # batch: people are asked once for all calls of a batch at one task
#  - name: freeze
#    when: { via: [http, run, mcp], from: 2026-12-19T00:00:00+01:00, until: 2027-01-04T00:00:00+01:00 }
#    approvers: { groups: [change-managers] }
`;

const notifications = `# Receivers of events, as webhooks that are signed by Standard Webhooks. In events, * is any text without a dot, ** any text.
#notifications:
#  - url: https://hooks.example.net/gateway
#    events:
#      - orchestration-gateway.approval.requested.v1
#      - io.serverlessworkflow.workflow.faulted.v1
#      - io.serverlessworkflow.workflow.suspended.v1
#      - orchestration-gateway.adapter.down.v1
#    secret: { env: WEBHOOK_SECRET } # whsec_ and 24 to 64 bytes in base64
#    body: '{ summary: .type, source: .source }' # an expression of jq over the event; without it the CloudEvent is the body
#    headers: { Authorization: { env: PAGER_KEY } }
`;

const mcp = `# Agents, by the Model Context Protocol.
#mcp:
#  enabled: false # true: POST /mcp; docs/guides/agents.md has the configuration of clients
#  readOnly: true # false: agents may make changes too, as their rights and the approvals let them
#  metadata: true # false: for clients that ignore their token where a server names issuers
`;
