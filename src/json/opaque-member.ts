import { pointerSegments } from './json-pointer.ts';

/** A member that is relayed and not interpreted. */
export interface OpaqueMember {
  /** RFC 6901. */
  readonly pointer: string;
  /** The names and indices that the pointer goes through. */
  readonly segments: readonly string[];
}

/** The members at these RFC 6901 pointers, such as `/body`; made once for many texts. */
export function opaqueMembers(pointers: readonly string[]): readonly OpaqueMember[] {
  return pointers.map((pointer) => ({ pointer, segments: pointerSegments(pointer) }));
}
