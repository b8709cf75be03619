const longest = 1024;

/**
 * The RFC 6901 pointer to a member or array entry of the value at `parent`. A pointer longer than 1,024 characters is cut and
 * ends in `…`. Only people read it, and long names in a hostile text must not make it grow.
 */
export function pointerTo(parent: string, segment: string | number): string {
  if (parent.length > longest) return parent;
  if (typeof segment === 'number') return `${parent}/${segment}`;
  const escaped = segment.slice(0, longest).replaceAll('~', '~0').replaceAll('/', '~1');
  const pointer = `${parent}/${escaped}`;
  return pointer.length > longest || segment.length > longest ? `${pointer.slice(0, longest)}…` : pointer;
}

/** The names and indices of an RFC 6901 pointer. */
export function pointerSegments(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
