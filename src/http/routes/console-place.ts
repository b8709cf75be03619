/** Characters of a page's address that survive a login. */
const longestPlace = 1_000;

/**
 * The address of a page of the console as a caller gave it, without `/console` in front: a path with a query. It is empty for anything that
 * would lead elsewhere, so that a login cannot send people to another site.
 */
export function consolePlace(given: string): string {
  if (given.length > longestPlace || !/^\/[\x21-\x7e]*$/u.test(given) || given.includes('\\')) return '';
  const root = 'http://gateway.invalid';
  const address = `${root}/console${given}`;
  if (!URL.canParse(address)) return '';
  const { origin, pathname, search } = new URL(address);
  return origin === root && pathname.startsWith('/console/') ? `${pathname.slice('/console'.length)}${search}` : '';
}
