import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { place } from '../address.ts';

/** A page above the one that is open. */
interface Crumb {
  readonly title: string;
  readonly href: string;
}

/** What a page is about. */
interface SubjectProps {
  /** The name of the thing, and so the title of the page. */
  readonly title: string;
  /** Shown small next to the title, to be copied. */
  readonly id?: string;
  /** Between the list of such things and this page. */
  readonly above?: readonly Crumb[];
}

interface PageSubject extends SubjectProps {
  /** The address that the subject belongs to, in all its views. That of an earlier page counts no more. */
  readonly page: string;
}

const subject = signal<PageSubject | undefined>(undefined);

/** Gives the page its title. It draws nothing, so a page uses it where it knows the name. */
export function Subject({ title, id, above }: SubjectProps): null {
  const page = place.value.segments.join('/');
  useLayoutEffect(() => {
    subject.value = { page, title, ...(id === undefined ? {} : { id }), ...(above === undefined ? {} : { above }) };
  }, [page, title, id, JSON.stringify(above)]);
  return null;
}

/** What the open page said that it is about; undefined while it does not know. */
export function pageSubject(): SubjectProps | undefined {
  const said = subject.value;
  return said?.page === place.value.segments.join('/') ? said : undefined;
}

/** What two addresses share if they are the same page with other filters. */
export function pageKey(): string {
  const { segments, query } = place.value;
  return [...segments, query.get('view') ?? ''].join('/');
}
