const longest = 1024;

/**
 * The RFC 6901 pointer to a member or an array entry of the value that `parent` points to. A pointer is for a reader: beyond
 * 1,024 characters it is cut and ends in `…`, so that names of a hostile text cannot make it grow.
 */
export function pointerTo(parent: string, segment: string | number): string {
  if (parent.length > longest) return parent;
  if (typeof segment === 'number') return `${parent}/${segment}`;
  const escaped = segment.slice(0, longest).replaceAll('~', '~0').replaceAll('/', '~1');
  const pointer = `${parent}/${escaped}`;
  return pointer.length > longest || segment.length > longest ? `${pointer.slice(0, longest)}…` : pointer;
}

/** The names that an RFC 6901 pointer goes through. */
export function pointerSegments(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
