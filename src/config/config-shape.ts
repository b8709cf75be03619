import { accessSection } from './access-section.ts';
import { adaptersSection } from './adapter-section.ts';
import type { Config } from './config.ts';
import { outboundSection } from './outbound-section.ts';
import { path } from './pem-shapes.ts';
import { duration, size } from './scalar-shapes.ts';
import { serverSection } from './server-section.ts';
import { defaulted, mapping, optional, required, type Shape } from './shape.ts';
import { storeSection } from './store-section.ts';

const auditSection = mapping({
  retention: defaulted(duration('36500d'), '90d', 'How long audit records are kept.'),
  maxSize: optional(size('1048576GiB'), 'How large the log may become; beyond that the oldest records go before their time.'),
  checkpointFile: optional(path, 'File that signed checkpoints of the audit chain are appended to.'),
});

/** The whole file: the one source of its keys, types, defaults and meanings. */
export const configShape: Shape<Config> = mapping({
  server: defaulted(serverSection, '{}', 'Where and how the gateway listens.'),
  store: defaulted(storeSection, '{}', 'Where sessions, throttles, the catalogue and the audit log are kept.'),
  access: required(accessSection, 'Who may call: users, clients and issuers.'),
  outbound: defaulted(outboundSection, '{}', 'What POST /tools/restCall may reach, and how.'),
  adapters: defaulted(adaptersSection, '[]', 'Named orchestrators.'),
  audit: defaulted(auditSection, '{}', 'The audit log.'),
});
