import type { AuditRecord } from '#client/gateway.ts';
import { hrefOf } from './address.ts';
import { seenText } from './texts.ts';

/** The page of a record. */
export function recordHref(id: string): string {
  return hrefOf(['audit', id.replace('/', '_')]);
}

/** What was asked for, in one line. */
export function recordTitle({ adapter, verb, address, route, event }: AuditRecord): string {
  if (address === undefined || verb === undefined) return seenText(route ?? event);
  return seenText([verb, adapter, address].filter((part) => part !== undefined).join(' '));
}

interface RecordedObject {
  readonly kind: string;
  readonly name: string;
  /** Its page; a form has none. */
  readonly path: readonly string[] | undefined;
}

/** What a record is about, each with the way to its page. */
export function objectsOf({ automation, workflow, form, approval }: AuditRecord): readonly RecordedObject[] {
  const named = [
    { kind: 'automation', of: automation, page: 'automations' },
    { kind: 'workflow', of: workflow, page: 'workflows' },
    { kind: 'form', of: form, page: undefined },
    { kind: 'approval', of: approval, page: 'approvals' },
  ] as const;
  return named.flatMap(({ kind, of, page }) => {
    if (of === undefined) return [];
    const version = 'version' in of && of.version !== undefined ? ` ${of.version}` : '';
    return [{ kind, name: `${of.name}${version}`, path: page === undefined ? undefined : [page, of._id] }];
  });
}
