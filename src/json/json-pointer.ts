const maxLength = 1024;

/** RFC 6901. Cut to 1,024 characters and `…`: only people read it, and a hostile text must not make it grow. */
export function pointerTo(parent: string, segment: string | number): string {
  if (parent.length > maxLength) return parent;
  if (typeof segment === 'number') return `${parent}/${segment}`;
  const escaped = segment.slice(0, maxLength).replaceAll('~', '~0').replaceAll('/', '~1');
  const pointer = `${parent}/${escaped}`;
  return pointer.length > maxLength || segment.length > maxLength ? `${pointer.slice(0, maxLength)}…` : pointer;
}

export function pointerSegments(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

export interface OpaqueMember {
  readonly pointer: string;
  readonly segments: readonly string[];
}

/** RFC 6901 pointers such as `/body`. Computed once for many texts. */
export function opaqueMembers(pointers: readonly string[]): readonly OpaqueMember[] {
  return pointers.map((pointer) => ({ pointer, segments: pointerSegments(pointer) }));
}
