import { createHash } from 'node:crypto';
import { GatewayError } from '#base/gateway-error.ts';

/**
 * Of a document without its run facts, the same on every gateway. A strong tag in form, which `If-Match` needs (RFC 9110 13.1.1),
 * although `lastRunAt` and `nextRunAt` do not change it (0026-run-facts.md).
 */
export function entityTag(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;
}

export interface Preconditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/**
 * Throws `precondition-failed` (412); `current` undefined: there is no such document. `If-Match` compares strongly, so a weak tag
 * never matches. A header that is no list of tags is `invalid-request` (RFC 9110 13.1.1 and 13.1.2).
 */
export function requireMatch({ ifMatch, ifNoneMatch }: Preconditions, current: string | undefined, what = 'automation'): void {
  if (current === undefined) {
    if (ifMatch !== undefined) throw failed(`There is no such ${what}, so that If-Match names nothing.`);
    return;
  }
  if (ifMatch !== undefined && ifMatch.trim() !== '*' && !tagsOf('If-Match', ifMatch).includes(current)) {
    throw failed(`The ${what} has changed: it is at ${current} now. Read it again, and repeat the change on what it has become.`);
  }
  if (!matchesNone(ifNoneMatch, current)) throw failed(`If-None-Match names the ${what} as it is.`);
}

/** False if `If-None-Match` names the current tag, by weak comparison (RFC 9110 13.1.2). */
export function matchesNone(ifNoneMatch: string | undefined, current: string): boolean {
  if (ifNoneMatch === undefined) return true;
  if (ifNoneMatch.trim() === '*') return false;
  return !tagsOf('If-None-Match', ifNoneMatch).some((tag) => tag.replace(/^W\//u, '') === current);
}

function failed(detail: string): GatewayError {
  return new GatewayError('precondition-failed', detail);
}

/** `entity-tag = [ W/ ] DQUOTE *etagc DQUOTE`, in a list (RFC 9110 8.8.3 and 5.6.1). */
const tag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/gu;

function tagsOf(header: string, value: string): readonly string[] {
  const rest = value.replaceAll(tag, '');
  const tags = value.match(tag) ?? [];
  if (tags.length === 0 || !/^[ \t,]*$/u.test(rest)) {
    throw new GatewayError('invalid-request', `${header} must be * or a list of entity tags in double quotes, such as "abc".`);
  }
  return tags;
}
