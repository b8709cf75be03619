/** The RFC 6901 pointer to a member or an array entry of the value that `parent` points to. */
export function pointerTo(parent: string, segment: string | number): string {
  if (typeof segment === 'number') return `${parent}/${segment}`;
  return `${parent}/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
