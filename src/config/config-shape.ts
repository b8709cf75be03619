import { Secret } from '#base/secret.ts';
import { peopleSatisfyRules } from './people-checks.ts';
import { vaultSection } from './secrets/vault-section.ts';
import { accessSection } from './sections/access-section.ts';
import { adaptersSection } from './sections/adapter-section.ts';
import { automationsSection } from './sections/automations-section.ts';
import { callersHaveNames } from './sections/caller-auth.ts';
import { notificationsSection } from './sections/notifications-section.ts';
import { storeSection } from './sections/store-section.ts';
import { addressRange, hostName, hostRule, httpUrl } from './shapes/address-shapes.ts';
import { proxy, timeouts, tlsFiles } from './shapes/dialling-shapes.ts';
import { certificateFile, certificateWithKey, clientTls, isPair, keyFile, path } from './shapes/pem-shapes.ts';
import { warn } from './shapes/place.ts';
import { approvalRuleList, rightsMatchAdapters } from './shapes/role-shapes.ts';
import { choice, duration, flag, integer, label, size } from './shapes/scalar-shapes.ts';
import { secret } from './shapes/secret-shape.ts';
import { defaulted, list, mapped, mapping, optional, required } from './shapes/shape.ts';

const serverTls = mapped(
  mapping({
    certFile: required(certificateFile, "PEM file of the gateway's certificate, followed by its chain."),
    keyFile: required(keyFile, 'PEM file of its private key, unencrypted.'),
  }),
  ({ certFile: cert, keyFile: key }, place) => (isPair(place, cert, key) ? { cert, key } : undefined),
);

export const listening = {
  host: defaulted(hostName, '127.0.0.1', 'Address to listen on. 0.0.0.0 or :: means every interface.'),
  port: defaulted(
    integer(0, 65_535),
    '3000',
    'Port to listen on. With 0 the gateway takes a free port and prints it in the ready line.',
  ),
};

const serverSection = mapping({
  ...listening,
  tls: optional(serverTls, 'With it the gateway serves HTTPS instead of HTTP.'),
  requestBodyLimit: defaulted(size('256MiB'), '10MiB', 'Largest request body; a larger one gets 413.'),
  openMetrics: defaulted(flag, 'false', 'true: `/metrics` needs no credentials.'),
  console: defaulted(flag, 'true', 'false: the gateway serves no console.'),
  trustedProxies: defaulted(
    list(addressRange),
    '[]',
    'Proxies in front of the gateway whose `X-Forwarded-For` the gateway trusts.',
  ),
  publicUrl: optional(
    httpUrl({ example: 'https://gateway.example.net', path: true }),
    'Where callers reach the gateway, such as behind a proxy that ends TLS. A proxy removes its path, if it has one.',
  ),
  drain: defaulted(duration('10m'), '30s', 'How long calls in flight may take to end after SIGTERM or SIGINT.'),
  rateLimit: optional(
    mapping({
      calls: required(integer(1, 1_000_000_000), 'Calls that each principal may make in a period.'),
      per: required(duration('1d'), 'Length of the period.'),
    }),
    'Limit for the calls of each principal; further calls get 429. Without the key there is no limit.',
  ),
  logLevel: defaulted(
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace'),
    'info',
    'Lowest level of the log lines to write.',
  ),
});

export const outboundTimeouts = timeouts({ firstByte: '30s', idle: '15s', total: '30s' });

const outboundSection = mapping({
  allow: defaulted(
    list(hostRule),
    '[]',
    'Destinations allowed in addition to public addresses: host, `*.suffix`, address or CIDR, each with an optional `:port`.',
  ),
  deny: defaulted(list(hostRule), '[]', 'Destinations denied, even if `allow` has them.'),
  timeouts: defaulted(outboundTimeouts, '{}', 'Time limits of one call.'),
  responseLimit: defaulted(size('1024GiB'), '64MiB', 'Largest reply body, after decompression.'),
  redirects: defaulted(
    integer(0, 20),
    '5',
    'Redirects that one call may follow; a further one is an error. With 0 the redirect itself is the answer.',
  ),
  tls: optional(mapped(mapping(tlsFiles, certificateWithKey), clientTls), 'Certificates for HTTPS destinations.'),
  proxy: optional(proxy, 'Proxy for all calls of `restCall`.'),
});

const auditSection = mapping({
  retention: defaulted(duration('36500d'), '90d', 'How long the gateway keeps audit records.'),
  maxSize: defaulted(
    size('1048576GiB'),
    '1GiB',
    'Largest size of the audit log. Beyond it the gateway deletes the oldest records before `retention` ends.',
  ),
  bodies: defaulted(
    choice('changes', 'none'),
    'changes',
    'Of which calls the gateway keeps the bodies, masked and up to 64 KiB. With `none` a record has the SHA-256 of its body alone.',
  ),
  bodiesMaxSize: defaulted(
    size('1048576GiB'),
    '1GiB',
    'Largest size of all bodies, in addition to `maxSize`. Beyond it, and beyond a tenth for one person, the oldest bodies go; no record does.',
  ),
  mask: defaulted(
    list(label({ type: 'word', example: 'password' })),
    '[password, passphrase, secret, community, token, key-string]',
    'Parts of the names of members, in any case, whose values are `***` in the bodies.',
  ),
  checkpointFile: optional(path, 'File to which the gateway appends signed checkpoints of the audit log.'),
  key: optional(
    mapped(secret(), (key, place) => {
      if (key.reveal().length < 32) warn(place, 'is short; write at least 32 random characters');
      // The proofs of open approvals need one key, so only a restart takes another one.
      return new Secret(key.reveal());
    }),
    'Key of the proofs of approvals, the same on all gateways. Absent: a file next to a SQLite store; on PostgreSQL the key in the store.',
  ),
});

const mcpSection = mapping({
  enabled: defaulted(flag, 'false', 'true: the gateway serves agents at `POST /mcp`.'),
  readOnly: defaulted(
    flag,
    'true',
    'true: agents read, and their calls change nothing, no matter which rights they have. Calls of `readActions` are reads.',
  ),
  metadata: defaulted(
    flag,
    'true',
    'false: nothing tells clients of the issuers in `access.oidc`, so that they keep to a token of their configuration.',
  ),
});

/** The whole file: the only source of its keys, types, defaults and meanings. */
export const configShape = mapping(
  {
    server: defaulted(serverSection, '{}', 'Where and how the gateway listens.'),
    store: defaulted(storeSection, '{}', 'Database for sessions, login throttles, the catalogue and the audit log.'),
    vault: optional(vaultSection, 'HashiCorp Vault or OpenBao, from which secrets may come.'),
    access: required(accessSection, 'Users, clients and issuers that may call the gateway.'),
    outbound: defaulted(outboundSection, '{}', 'Destinations and limits of `POST /tools/restCall`.'),
    adapters: defaulted(adaptersSection, '[]', 'Adapter instances: the orchestrators.'),
    audit: defaulted(auditSection, '{}', 'The audit log.'),
    automations: defaulted(automationsSection, '{}', 'Runs of automations.'),
    approvals: defaulted(approvalRuleList, '[]', 'Calls that people must approve before they leave.'),
    notifications: defaulted(notificationsSection, '[]', 'Receivers of events, as signed webhooks.'),
    mcp: defaulted(mcpSection, '{}', 'Agents, by the Model Context Protocol.'),
  },
  rightsMatchAdapters,
  peopleSatisfyRules,
  callersHaveNames,
);
