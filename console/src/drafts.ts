import { signal } from '@preact/signals';
import { principal } from './session.ts';

/** What a person typed and did not store, by the page of its document. It is kept until it is stored or discarded. */
const drafts = signal<Readonly<Record<string, string>>>({});

/** In this tab a draft also survives a new load of the page, and a session that ended. */
const prefix = 'draft:';

function keyOf(page: string): string {
  const caller = principal.value;
  return `${prefix}${typeof caller === 'string' ? '' : caller.username} ${page}`;
}

/** A browser may refuse storage: then a draft is kept until the page is loaded again. */
function storage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

export function draftOf(page: string): string | undefined {
  const key = keyOf(page);
  return drafts.value[key] ?? storage()?.getItem(key) ?? undefined;
}

/** Undefined forgets it. */
export function keepDraft(page: string, text: string | undefined): void {
  const key = keyOf(page);
  const { [key]: _last, ...others } = drafts.value;
  drafts.value = text === undefined ? others : { ...others, [key]: text };
  try {
    if (text === undefined) storage()?.removeItem(key);
    else storage()?.setItem(key, text);
  } catch {
    // It is full.
  }
}

/** The browser asks before it closes a tab that has a draft. */
export function guardDrafts(): void {
  addEventListener('beforeunload', (event) => {
    const hasStored = Object.keys(storage() ?? {}).some((key) => key.startsWith(prefix));
    if (hasStored || Object.keys(drafts.value).length > 0) event.preventDefault();
  });
}
