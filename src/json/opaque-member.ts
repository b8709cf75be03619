import { pointerSegments } from './json-pointer.ts';

/** A member that is relayed without interpretation. */
export interface OpaqueMember {
  /** An RFC 6901 pointer. */
  readonly pointer: string;
  /** The names and indices of the pointer. */
  readonly segments: readonly string[];
}

/** The members at these RFC 6901 pointers, such as `/body`. Computed once for many texts. */
export function opaqueMembers(pointers: readonly string[]): readonly OpaqueMember[] {
  return pointers.map((pointer) => ({ pointer, segments: pointerSegments(pointer) }));
}
