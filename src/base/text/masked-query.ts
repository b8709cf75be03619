/**
 * An address or path with the values of its query masked: `?depth=2&token=x&y` becomes `?depth=2&token=***&***`. Any value may be a
 * secret, and a parameter without `=` may be a value. Names before `=`, the path, and the values of `shownValues` are kept.
 */
export function withMaskedQuery(address: string, mask = '***'): string {
  const start = address.indexOf('?');
  if (start < 0) return address;
  const masked = (parameter: string): string => {
    const end = parameter.indexOf('=');
    return parameter === '' || isShown(parameter, end) ? parameter : `${parameter.slice(0, end + 1)}${mask}`;
  };
  return `${address.slice(0, start)}?${address
    .slice(start + 1)
    .split('&')
    .map(masked)
    .join('&')}`;
}

const count = /^(?:\d{1,20}|unbounded)$/u;
const option = /^(?:true|false)?$/u;
/** Text of an operator, such as the number of a ticket, which the orchestrator keeps too. */
const label = /^.{1,256}$/u;

/**
 * Parameters that say how an orchestrator reads or commits (RFC 8040 4.8, NSO's commit options), and the values that they can have. A REST
 * call may use such a name for something else, so that any other value is masked.
 */
const shownValues: ReadonlyMap<string, RegExp> = new Map([
  ['content', /^(?:config|nonconfig|all)$/u],
  ['depth', count],
  ['fields', /^(?:[\w.:;()/*-]|%(?:28|29|2A|2F|3A|3B))+$/iu],
  ['limit', count],
  ['offset', count],
  ['with-defaults', /^(?:report-all|report-all-tagged|trim|explicit)$/u],
  ['dry-run', /^(?:xml|cli|native)?$/u],
  ...[
    'dry-run-reverse',
    'no-networking',
    'no-out-of-sync-check',
    'no-overwrite',
    'no-revision-drop',
    'no-deploy',
    'use-lsa',
    'no-lsa',
    'commit-queue-atomic',
    'commit-queue-block-others',
    'commit-queue-lock',
  ].map((name) => [name, option] as const),
  ['reconcile', /^[a-z-]{0,64}$/u],
  ['commit-queue', /^(?:async|sync|bypass)?$/u],
  ['commit-queue-error-option', /^[a-z-]{1,64}$/u],
  ['commit-queue-tag', label],
  ['commit-queue-timeout', /^(?:\d{1,20}|infinity)$/u],
  ['rollback-comment', label],
  ['rollback-id', /^\d{1,20}$/u],
  ['rollback-label', label],
  ['trace-id', label],
]);

/** `end`: the place of its `=`, or -1. */
function isShown(parameter: string, end: number): boolean {
  const name = end < 0 ? parameter : parameter.slice(0, end);
  const value = end < 0 ? '' : parameter.slice(end + 1);
  return name === 'params' ? holdsOptions(value) : shownValues.get(name)?.test(value) === true;
}

/** True for commit options as NSO 6.7 takes them, all in one: the base64 text of a JSON object. */
function holdsOptions(value: string): boolean {
  try {
    const read: unknown = JSON.parse(Buffer.from(decodeURIComponent(value), 'base64').toString('utf8'));
    if (typeof read !== 'object' || read === null || Array.isArray(read)) return false;
    return Object.keys(read).every((name) => shownValues.has(name) || name === 'comment' || name === 'label');
  } catch {
    return false;
  }
}
