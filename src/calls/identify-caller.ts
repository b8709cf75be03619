import type { OrchestratorNames, PrincipalNow } from '#access/people.ts';
import type { Persons } from '#access/persons.ts';
import { issuerOfId, type Principal } from '#access/principal.ts';
import type { CallerIdentity } from '#adapters/credentials/caller-identity.ts';
import type { CallerMapping } from '#adapters/credentials/credentials.ts';
import { isOrchestratorName } from '#adapters/credentials/reserved-accounts.ts';
import { GatewayError } from '#base/gateway-error.ts';

export interface IdentityNeeds {
  readonly names: OrchestratorNames;
  readonly persons: Pick<Persons, 'idsOf'>;
  readonly principalNow: PrincipalNow;
}

interface IdentifiedCall {
  /** Who makes it: the caller, or the starter of the run. */
  readonly principal: Principal;
  /** The principal comes from the store: its roles and groups of now count. */
  readonly isRemembered: boolean;
  /** See CallContext. */
  readonly answerable?: readonly Principal[] | undefined;
  /** Of the automation that runs. */
  readonly owner?: Pick<Principal, 'id' | 'username'> | undefined;
}

/** The caller at an orchestrator: name and groups there. Rejects with `identity-unmapped`, and with `store-unavailable`. */
export async function identifyCaller(
  mapping: CallerMapping,
  { principal, isRemembered, answerable, owner }: IdentifiedCall,
  needs: IdentityNeeds,
): Promise<Pick<CallerIdentity, 'groups' | 'name'>> {
  const isOwners = answerable !== undefined && mapping.runs === 'owner';
  const named = isOwners ? owner : principal;
  if (named === undefined) throw unmapped('The automation has no owner, in whose name its runs call.');
  const person = isRemembered || isOwners ? await needs.principalNow(named.id) : principal;
  if (person === undefined) throw unmapped(`The last token of ${named.username} is too old, or the principal was removed.`);
  const name = await nameOf(person, mapping, needs);
  await refuseNameOfOther(name, person, mapping, needs);
  return { name, groups: groupsOf(person, mapping, answerable) };
}

/** No one's code gets the groups of another person: those who wrote it need them too. */
function groupsOf(person: Principal, mapping: CallerMapping, answerable: readonly Principal[] = []): readonly string[] {
  const writers = answerable.filter((one) => !mapping.authors.some((people) => isOf(one, people)));
  const all = writers.map((one) => heldGroups(one, mapping));
  return heldGroups(person, mapping).filter((group) => all.every((held) => held.includes(group)));
}

function heldGroups(person: Principal, { groups }: CallerMapping): readonly string[] {
  const held = Object.entries(groups).filter(([people]) => isOf(person, people));
  return [...new Set(held.map(([, group]) => group))].toSorted();
}

/** `people`: `group:NAME` or `role:NAME`. */
function isOf({ roles, groups }: Principal, people: string): boolean {
  const at = people.indexOf(':');
  const names: readonly string[] = people.slice(0, at) === 'group' ? groups : roles;
  return names.includes(people.slice(at + 1));
}

async function nameOf(
  { id, username }: Principal,
  { users, userClaims }: CallerMapping,
  { names }: IdentityNeeds,
): Promise<string> {
  const issuer = issuerOfId(id);
  const claim = issuer !== undefined && Object.hasOwn(userClaims, issuer) ? userClaims[issuer] : undefined;
  const name = Object.hasOwn(users, id)
    ? users[id]
    : issuer === undefined
      ? names.ofUser(id)
      : claim && (await names.ofPerson(id, claim));
  if (name === undefined) throw unmapped(`${username} has no name at the orchestrator.`);
  if (!isOrchestratorName(name)) throw unmapped(`The name of ${username} has characters that the orchestrator cannot take.`);
  return name;
}

async function refuseNameOfOther(
  name: string,
  { id, username }: Principal,
  mapping: CallerMapping,
  needs: IdentityNeeds,
): Promise<void> {
  const own = needs.persons.idsOf(id);
  for (const owner of await ownersOf(name, mapping, needs))
    if (!own.includes(owner)) throw unmapped(`The name of ${username} at the orchestrator belongs to another person.`);
}

/** The configuration comes first, then users, then the claims of issuers. So no issuer takes a name away. */
async function ownersOf(
  name: string,
  { users, userClaims }: CallerMapping,
  { names }: IdentityNeeds,
): Promise<readonly string[]> {
  const mapped = Object.entries(users).flatMap(([id, given]) => (given === name ? [id] : []));
  if (mapped.length > 0) return mapped;
  const user = names.ofUser(name);
  if (user !== undefined && !Object.hasOwn(users, user)) return [user];
  const ofIssuers = await Promise.all(Object.entries(userClaims).map(([issuer, claim]) => names.idsNamed(issuer, claim, name)));
  return ofIssuers.flat().filter((id) => !Object.hasOwn(users, id));
}

function unmapped(detail: string): GatewayError {
  return new GatewayError(
    'identity-unmapped',
    `${detail} The adapter instance sends each call as its caller, so nothing was sent. Ask the operator for an entry in auth.users.`,
  );
}
