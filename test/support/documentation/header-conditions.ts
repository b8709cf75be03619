import assert from 'node:assert/strict';

/** A row of a table of docs/reference/headers.md. */
export interface HeaderRow {
  /** The cell as written: a name in backticks, or a description of several names. */
  readonly header: string;
  readonly who: string;
  readonly when: string;
}

/** One message on the wire, and the facts that the conditions of the page depend on. */
export interface SentMessage {
  readonly method?: string;
  /** Names that the caller wrote: members of `headers` of a restCall, or headers of its request that are passed on. */
  readonly callerHeaders?: readonly string[];
  readonly body?: boolean;
  readonly userOrPassword?: boolean;
  readonly changedToGet?: boolean;
  readonly contentType?: boolean;
  readonly auth?: string;
  /** `auth.name`. */
  readonly authName?: string;
  readonly proxyUser?: boolean;
  readonly gzip?: boolean;
  /** Names in OTEL_EXPORTER_OTLP_HEADERS. */
  readonly collectorHeaders?: readonly string[];
  /** Facts of a reply. */
  readonly long?: boolean;
  readonly notText?: boolean;
  readonly redirected?: boolean;
  readonly replayed?: boolean;
  readonly staysOpen?: boolean;
  readonly farHeaders?: readonly string[];
}

/** The names of a row in lower case where its conditions hold; none where they do not. */
export function namesOf({ header, when }: HeaderRow, sent: SentMessage): readonly string[] {
  const names = namesIn(header, sent);
  return names.filter((name) => when.split('; ').every((condition) => conditionHolds(condition, name, sent)));
}

function namesIn(header: string, sent: SentMessage): readonly string[] {
  const single = /^`([\w-]+)`$/u.exec(header)?.[1];
  if (single !== undefined) return [single.toLowerCase()];
  if (header === 'the name in `auth.name`') return lower(sent.authName === undefined ? [] : [sent.authName]);
  if (header === 'each name in `OTEL_EXPORTER_OTLP_HEADERS`') return lower(sent.collectorHeaders);
  const begin = /^each name in `headers` that begins with `([\w-]+)`$/u.exec(header)?.[1]?.toLowerCase();
  if (begin !== undefined) return lower(sent.callerHeaders).filter((name) => name.startsWith(begin));
  const [, but] = /^each name in `headers`(?: but (.+))?$/u.exec(header) ?? assert.fail(`unknown header cell: ${header}`);
  const left = new Set([...(but ?? '').matchAll(/`([\w-]+)`/gu)].map(([, name = '']) => name.toLowerCase()));
  return lower(sent.callerHeaders).filter((name) => !left.has(name));
}

function lower(names: readonly string[] = []): readonly string[] {
  return names.map((name) => name.toLowerCase());
}

function conditionHolds(condition: string, name: string, sent: SentMessage): boolean {
  const wrote = lower(sent.callerHeaders).includes(name);
  const holds = conditions.get(condition);
  if (holds !== undefined) return holds(sent, wrote);
  const types = /^with `auth\.type` ([\w, ]+)$/u.exec(condition)?.[1]?.split(/, | or /u);
  if (types !== undefined) return types.includes(sent.auth ?? 'none');
  const far = /^if the upstream sends `([\w-]+)`$/u.exec(condition)?.[1]?.toLowerCase();
  return far === undefined ? assert.fail(`unknown condition: ${condition}`) : lower(sent.farHeaders).includes(far);
}

const conditions: ReadonlyMap<string, (sent: SentMessage, callerWroteName: boolean) => boolean> = new Map<
  string,
  (sent: SentMessage, callerWroteName: boolean) => boolean
>([
  ['always', () => true],
  ['unless `headers` has it', (_, wrote) => !wrote],
  ['if `headers` has it', (_, wrote) => wrote],
  ["if the caller's request has it", (_, wrote) => wrote],
  ['with a body', ({ body = false }) => body],
  [
    'with a body, or with PATCH, POST or PUT',
    ({ body = false, method = '' }) => body || ['PATCH', 'POST', 'PUT'].includes(method),
  ],
  ['with `user` or `password`', ({ userOrPassword = false }) => userOrPassword],
  ['unless the method changed to GET', ({ changedToGet = false }) => !changedToGet],
  ['with `params.contentType`', ({ contentType = false }) => contentType],
  ['without `params.contentType`', ({ contentType = false }) => !contentType],
  ['with `OTEL_EXPORTER_OTLP_COMPRESSION` gzip', ({ gzip = false }) => gzip],
  ['with `proxy.username`', ({ proxyUser = false }) => proxyUser],
  ['for a body of the upstream up to 64 KiB', ({ long = false }) => !long],
  ['for a body of the upstream over 64 KiB', ({ long = false }) => long],
  ["if the upstream's body is not text", ({ notText = false }) => notText],
  ['after a redirect of `restCall`', ({ redirected = false }) => redirected],
  ['if the connection stays open', ({ staysOpen = false }) => staysOpen],
  ['for a repeated `Idempotency-Key`', ({ replayed = false }) => replayed],
]);
