import type { AccessOptions } from './access-options.ts';
import { foldedName } from './folded-name.ts';
import type { NamedPrincipal } from './people.ts';
import { issuerOfId } from './principal.ts';

/** Whether two principals are one person. For approvals alone, because equal names are enough. */
export type SamePerson = (one: NamedPrincipal, other: NamedPrincipal) => boolean;

/** Which principals are one person, by `access.persons`. Everything that compares people asks here. */
export interface Persons {
  /** By id, by `access.persons`, or by name. */
  readonly isSame: SamePerson;
  /** The ids of the person of a principal, its own included. For limits: names do not count. */
  idsOf(id: string): readonly string[];
}

export function createPersons(persons: AccessOptions['persons']): Persons {
  const all = new Map(Object.values(persons).flatMap((ids) => ids.map((id) => [id, ids] as const)));
  const idsOf = (id: string): readonly string[] => all.get(id) ?? [id];
  /** The name of a user or client is its id, so the entry of a person has names too. */
  const namesOf = (principal: NamedPrincipal): ReadonlySet<string> => {
    const others = idsOf(principal.id).filter((id) => issuerOfId(id) === undefined);
    return new Set([ownName(principal), ...others].map(foldedName));
  };
  return {
    isSame: (one, other) => idsOf(one.id).includes(other.id) || !namesOf(one).isDisjointFrom(namesOf(other)),
    idsOf,
  };
}

/** Without the suffix that the gateway adds where a user or client has the name too. */
function ownName({ id, username }: NamedPrincipal): string {
  const suffix = `@${issuerOfId(id)}`;
  return username.endsWith(suffix) ? username.slice(0, -suffix.length) : username;
}
