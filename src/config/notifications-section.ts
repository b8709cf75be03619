import { wantsOf } from '#notifications/event-patterns.ts';
import { httpUrl } from './address-shapes.ts';
import { type Parsed, text } from './scalar-shapes.ts';
import { secret } from './secret-shape.ts';
import { defaulted, list, mapping, required, type Shape, unique } from './shape.ts';

const lifecycle = ['started', 'suspended', 'resumed', 'cancelled', 'faulted', 'completed'];

/** The events of the gateway: of runs and their tasks by the DSL, and its own. */
const eventTypes: readonly string[] = [
  ...[...lifecycle, 'correlation-started', 'correlation-completed'].map((kind) => `io.serverlessworkflow.workflow.${kind}.v1`),
  ...[...lifecycle, 'created', 'retried'].map((kind) => `io.serverlessworkflow.task.${kind}.v1`),
  ...['requested', 'granted', 'rejected', 'withdrawn', 'used', 'expired'].map(
    (kind) => `orchestration-gateway.approval.${kind}.v1`,
  ),
  'orchestration-gateway.occurrence.skipped.v1',
  ...['down', 'up'].map((kind) => `orchestration-gateway.adapter.${kind}.v1`),
];

const pattern: Shape<string> = text({
  type: 'event type or pattern',
  example: '"orchestration-gateway.approval.*.v1"',
  parse: (value): Parsed<string> => {
    if (!/^[A-Za-z0-9_.*-]{1,200}$/u.test(value))
      return {
        fault:
          'is no event type: 1 to 200 letters, digits, ".", "_", "-", and "*" for any text without a dot or "**" for any text',
      };
    if (!eventTypes.some(wantsOf([value])))
      return { fault: `matches no event of the gateway; there are ${eventTypes.join(', ')}` };
    return { value };
  },
});

/** 24 to 64 bytes in base64 (Standard Webhooks 1.0). The message does not quote the secret. */
function webhookSecretFault(value: string): string | undefined {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/u.exec(value) ?? [];
  const key = Buffer.from(encoded, 'base64');
  if (encoded === '' || key.toString('base64').replaceAll('=', '') !== encoded.replaceAll('=', ''))
    return 'is no secret of Standard Webhooks; write whsec_ and base64, such as the output of: echo whsec_$(openssl rand -base64 32)';
  return key.length >= 24 && key.length <= 64 ? undefined : `has ${key.length} bytes; a secret has 24 to 64 bytes`;
}

const receiver = mapping({
  url: required(
    httpUrl({ example: 'https://hooks.example.net/gateway', path: true, query: true }),
    'Address of the receiver. Only host and port are shown in answers and logs.',
  ),
  events: defaulted(
    list(pattern, { atLeast: 1, checks: [unique()] }),
    '[orchestration-gateway.approval.requested.v1, io.serverlessworkflow.workflow.faulted.v1, io.serverlessworkflow.workflow.suspended.v1, orchestration-gateway.adapter.down.v1]',
    'Types of the events that it gets. `*` is any text without a dot, `**` any text.',
  ),
  secret: required(
    secret({ refuse: webhookSecretFault }),
    'Key of the signatures: `whsec_` and 24 to 64 bytes in base64 (Standard Webhooks).',
  ),
});

export const notificationsSection = list(receiver, { checks: [unique('url')] });
