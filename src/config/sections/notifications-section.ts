import { wantsOf } from '#notifications/notification.ts';
import { createExpressionPool } from '#workflows/jq/expression-pool.ts';
import { httpUrl } from '../shapes/address-shapes.ts';
import { entriesOf, type Place, report } from '../shapes/place.ts';
import { headerNameFault, plainText } from '../shapes/scalar-shapes.ts';
import { headerValueFault, secret } from '../shapes/secret-shape.ts';
import { defaulted, list, mapped, mapping, named, optional, required, unique, uniqueList } from '../shapes/shape.ts';

const lifecycle = ['started', 'suspended', 'resumed', 'cancelled', 'faulted', 'completed'];

/** By the DSL, and of the gateway. */
const eventTypes: readonly string[] = [
  ...[...lifecycle, 'correlation-started', 'correlation-completed'].map((kind) => `io.serverlessworkflow.workflow.${kind}.v1`),
  ...[...lifecycle, 'created', 'retried'].map((kind) => `io.serverlessworkflow.task.${kind}.v1`),
  ...['requested', 'granted', 'rejected', 'withdrawn', 'used', 'expired'].map(
    (kind) => `orchestration-gateway.approval.${kind}.v1`,
  ),
  ...['undecided', 'ended'].map((kind) => `orchestration-gateway.batch.${kind}.v1`),
  'orchestration-gateway.occurrence.skipped.v1',
  'orchestration-gateway.store.lost.v1',
  ...['down', 'up'].map((kind) => `orchestration-gateway.adapter.${kind}.v1`),
];

const pattern = plainText({
  type: 'event type or pattern',
  example: '"orchestration-gateway.approval.*.v1"',
  refuse: (value) => {
    if (!/^[A-Za-z0-9_.*-]{1,200}$/u.test(value))
      return 'is no event type: 1 to 200 letters, digits, ".", "_", "-", and "*" for any text without a dot or "**" for any text';
    if (eventTypes.some(wantsOf([value]))) return undefined;
    return `matches no event of the gateway; there are ${eventTypes.join(', ')}`;
  },
});

/** 24 to 64 bytes in base64 (Standard Webhooks 1.0). No message quotes it. */
function webhookSecretFault(value: string): string | undefined {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/u.exec(value) ?? [];
  const key = Buffer.from(encoded, 'base64');
  if (encoded === '' || key.toString('base64').replaceAll('=', '') !== encoded.replaceAll('=', ''))
    return 'is no secret of Standard Webhooks; write whsec_ and base64, such as the output of: echo whsec_$(openssl rand -base64 32)';
  return key.length >= 24 && key.length <= 64 ? undefined : `has ${key.length} bytes; a secret has 24 to 64 bytes`;
}

const expressionText = plainText({
  type: 'jq expression',
  example: "'{ summary: .type }'",
  refuse: (value) => (value.trim() === '' ? 'is empty; leave it out to send the event itself' : undefined),
});

/** Compiled here, so that `check-config`, a start and a reload find what jq cannot read. */
const bodyExpression = mapped(expressionText, async (expression, place) => {
  const pool = createExpressionPool({ threads: 1 });
  try {
    const problem = await pool.problemOf(expression, []);
    return problem === undefined ? expression : report(place, `is no jq expression: ${problem}`);
  } finally {
    await pool.close();
  }
});

const signatureHeaders = new Set(['webhook-id', 'webhook-timestamp', 'webhook-signature']);

function uniqueNames(place: Place): void {
  const seen = new Set<string>();
  for (const { key, keyPlace } of entriesOf(place)) {
    const name = key.toLowerCase();
    if (seen.has(name)) report(keyPlace, 'is given twice, as names of headers have no case; keep one');
    seen.add(name);
  }
}

const headers = named(secret({ refuse: headerValueFault }), {
  type: 'mapping of header names to secrets',
  example: '{ Authorization: { env: PAGER_KEY } }',
  refuse: (name) => headerNameFault(name, signatureHeaders),
  checks: [uniqueNames],
});

const receiver = mapping({
  url: required(
    httpUrl({ example: 'https://hooks.example.net/gateway', path: true, query: true }),
    'Address of the receiver. Only host and port are shown in answers and logs.',
  ),
  events: defaulted(
    uniqueList(pattern, 1),
    '[orchestration-gateway.approval.requested.v1, io.serverlessworkflow.workflow.faulted.v1, io.serverlessworkflow.workflow.suspended.v1, orchestration-gateway.adapter.down.v1]',
    'Types of the events that it gets. `*` is any text without a dot, `**` any text.',
  ),
  secret: required(
    secret({ refuse: webhookSecretFault }),
    'Key of the signatures: `whsec_` and 24 to 64 bytes in base64 (Standard Webhooks).',
  ),
  body: optional(
    bodyExpression,
    'Expression of jq over the event (`.`). Its one result is the body, as JSON; without it the CloudEvent is.',
  ),
  headers: optional(headers, 'Further headers of each webhook, with their values, such as the key of a pager.'),
});

export const notificationsSection = list(receiver, { checks: [unique('url')] });
