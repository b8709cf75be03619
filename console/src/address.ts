import { signal } from '@preact/signals';

const program: string = import.meta.url;
/** The address of the gateway, with a slash at its end: the program is at `console/assets/`. */
export const gatewayAddress = new URL('../..', program);
const root = new URL('console', gatewayAddress).pathname;

/** Where the console is: the address without the part that all pages share. */
export interface Place {
  /** Decoded segments, such as `['runs', '019a…']`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(readPlace());

function readPlace(): Place {
  const path = location.pathname.slice(root.length);
  const segments = path.split('/').flatMap((segment) => (segment === '' ? [] : [decoded(segment)]));
  return { segments, query: new URLSearchParams(location.search) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The address of a page. Parameters that are empty are left out. */
export function hrefOf(segments: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  return [root, ...segments.map(encodeURIComponent)].join('/') + search;
}

/** The address of the page that is open, without the part that all pages share. */
export function pagePlace(): string {
  return location.pathname.slice(root.length) + location.search;
}

/** Goes to a page; `replace` leaves no entry in the history. */
export function goTo(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  place.value = readPlace();
}

/** Lets links inside the console change the page without loading the program again. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    place.value = readPlace();
  });
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || !isPlainClick(event) || !isInside(link)) return;
    event.preventDefault();
    goTo(link.href);
    scrollTo(0, 0);
  });
}

/** Not one that opens a new tab or window. */
function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !event.defaultPrevented && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
}

/** Links to a place on the same page are the browser's. */
function isInside({ origin, pathname, hash, target }: HTMLAnchorElement): boolean {
  return origin === location.origin && target === '' && hash === '' && (pathname === root || pathname.startsWith(`${root}/`));
}
