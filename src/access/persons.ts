import type { NamedPrincipal } from './people.ts';
import { issuerOfId } from './principal.ts';
import type { AccessOptions } from './rights/access-options.ts';

/** For approvals alone, because equal names are enough. */
export type SamePerson = (one: NamedPrincipal, other: NamedPrincipal) => boolean;

/** Everything that compares people asks here (`access.persons`). */
export interface Persons {
  /** By id, by `access.persons`, or by name. */
  readonly isSame: SamePerson;
  /** Its own included. For limits: names do not count. */
  idsOf(id: string): readonly string[];
}

export function createPersons(persons: AccessOptions['persons']): Persons {
  const all = new Map(Object.values(persons).flatMap((ids) => ids.map((id) => [id, ids] as const)));
  const idsOf = (id: string): readonly string[] => all.get(id) ?? [id];
  /** The name of a user or client is its id, so a person's entry has names too. */
  const namesOf = (principal: NamedPrincipal): ReadonlySet<string> => {
    const others = idsOf(principal.id).filter((id) => issuerOfId(id) === undefined);
    return new Set([ownName(principal), ...others].map(foldName));
  };
  return {
    isSame: (one, other) => idsOf(one.id).includes(other.id) || !namesOf(one).isDisjointFrom(namesOf(other)),
    idsOf,
  };
}

/** Without the suffix of a name that a user or client has too. */
function ownName({ id, username }: NamedPrincipal): string {
  const suffix = `@${issuerOfId(id)}`;
  return username.endsWith(suffix) ? username.slice(0, -suffix.length) : username;
}

/** Equal for names that look alike (NFKC) or differ in case; some letters have one case only, so both are folded. */
export function foldName(name: string): string {
  return name.normalize('NFKC').trim().toUpperCase().toLowerCase().normalize('NFKC');
}
