import { accessSection } from './access-section.ts';
import { adaptersSection } from './adapter-section.ts';
import { automationsSection } from './automations-section.ts';
import type { Config } from './config.ts';
import { notificationsSection } from './notifications-section.ts';
import { outboundSection } from './outbound-section.ts';
import { path } from './pem-shapes.ts';
import { peopleSatisfyRules } from './people-checks.ts';
import { approvalRuleList, rightsMatchAdapters } from './role-shapes.ts';
import { duration, size } from './scalar-shapes.ts';
import { secret } from './secret-shape.ts';
import { serverSection } from './server-section.ts';
import { defaulted, mapped, mapping, optional, required, type Shape } from './shape.ts';
import { storeSection } from './store-section.ts';

const auditSection = mapping({
  retention: defaulted(duration('36500d'), '90d', 'How long the gateway keeps audit records.'),
  maxSize: defaulted(
    size('1048576GiB'),
    '1GiB',
    'Largest size of the audit log. Beyond it the gateway deletes the oldest records before `retention` ends.',
  ),
  checkpointFile: optional(path, 'File to which the gateway appends signed checkpoints of the audit log.'),
  key: optional(
    mapped(secret(), (key, place) => {
      if (key.reveal().length < 32) place.reading.warning(place, 'is short; write at least 32 random characters');
      return key;
    }),
    'Key of the proofs of approvals, the same on all gateways. Absent: a file next to a SQLite store; on PostgreSQL the key in the store.',
  ),
});

/** The whole file: the only source of its keys, types, defaults and meanings. */
export const configShape: Shape<Config> = mapping(
  {
    server: defaulted(serverSection, '{}', 'Where and how the gateway listens.'),
    store: defaulted(storeSection, '{}', 'Database for sessions, login throttles, the catalogue and the audit log.'),
    access: required(accessSection, 'Users, clients and issuers that may call the gateway.'),
    outbound: defaulted(outboundSection, '{}', 'Destinations and limits of `POST /tools/restCall`.'),
    adapters: defaulted(adaptersSection, '[]', 'Adapter instances: the orchestrators.'),
    audit: defaulted(auditSection, '{}', 'The audit log.'),
    automations: defaulted(automationsSection, '{}', 'Runs of automations.'),
    approvals: defaulted(approvalRuleList, '[]', 'Calls that people must approve before they leave.'),
    notifications: defaulted(notificationsSection, '[]', 'Receivers of events, as signed webhooks.'),
  },
  rightsMatchAdapters,
  peopleSatisfyRules,
);
