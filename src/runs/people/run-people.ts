import {
  type InvolvedPrincipal,
  type Involvement,
  involvements,
  type NamedPrincipal,
  type PrincipalNow,
} from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Entrance } from '#access/rights/access-options.ts';
import type { PeopleOfRun } from '#automations/automation-people.ts';
import type { ReachedWorkflow, WorkflowPin } from '#workflows/catalogue/workflow-pins.ts';
import type { Storer } from '#workflows/catalogue/workflow-row.ts';
import type { HoldReason } from '../interpreter/state/run-events.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import type { NewRun } from '../journal/run-records.ts';
import { starterOf } from '../journal/run-row.ts';
import type { RunStore } from '../journal/run-store.ts';

export type PeopledRun = Pick<
  StoredRunSummary,
  | 'id'
  | 'automation'
  | 'workflow'
  | 'version'
  | 'principal'
  | 'workflowDigest'
  | 'pins'
  | 'above'
  | 'authors'
  | 'owner'
  | 'involved'
  | 'notBefore'
  | 'item'
  | 'around'
>;

/** Why a run must not go on. */
export interface LostStanding {
  readonly by: HoldReason;
  /** For people. */
  readonly detail: string;
}

export interface RunStanding {
  /** Everyone who answers for the calls of the run, with present roles and groups. */
  readonly answerable: readonly Principal[];
  /** Everyone who has a hand in them. */
  readonly involved: readonly InvolvedPrincipal[];
  /** Of those who are answerable: the storers of the run's own document, and the authors of its automation. */
  readonly writers: readonly Principal[];
}

/** Judges the people behind runs by their present rights. Each method rejects with `store-unavailable`. */
export interface RunPeople {
  /** Everyone who has had a hand in the run up to now. */
  involved(run: PeopledRun): Promise<readonly InvolvedPrincipal[]>;
  standing(run: PeopledRun): Promise<RunStanding | LostStanding>;
  /** Why the starter or scheduler is gone: it was removed or blocked. A person of an issuer who was not seen for long is not gone. */
  whyGone(principal: NamedPrincipal): LostStanding | undefined;
  /** Why a run of these documents must not begin; undefined where it may. */
  whyLost(documents: readonly ReachedWorkflow[], authors: readonly NamedPrincipal[] | undefined): Promise<LostAnswer | undefined>;
}

interface LostAnswer {
  /** A sentence. */
  readonly detail: string;
  /** A person of an issuer, whose last token is too old. */
  readonly isUnseen: boolean;
}

interface RunPeopleNeeds {
  readonly store: Pick<RunStore, 'people'>;
  readonly principalNow: PrincipalNow;
  /** See `Principals`. */
  readonly isGone: (id: string) => boolean;
  /** Who stored the bytes with these digests, by digest. */
  readonly storers: (digests: readonly string[]) => Promise<ReadonlyMap<string, readonly Storer[]>>;
  /** The digest of a version, for runs that an earlier gateway began. */
  readonly digestOf: (name: { readonly id: string; readonly version: string }) => Promise<string | undefined>;
  /** The first of the functions that neither a role nor a right of the principal allows; undefined where it may make all these calls. */
  readonly whyNotCall: (principal: Principal, functions: ReachedWorkflow['functions']) => string | undefined;
  /** Why the people may not write a document with its secrets: a sentence. */
  readonly whyNotSecrets: (document: ReachedWorkflow, writers: readonly Principal[]) => Promise<string | undefined>;
}

export function createRunPeople(needs: RunPeopleNeeds): RunPeople {
  const { store, storers: storersOf } = needs;
  const involvedOf = async (run: PeopledRun, storers: readonly Storer[]): Promise<readonly InvolvedPrincipal[]> => {
    const above = runsAbove(run.id);
    const joined = await store.people([run.id, ...above]);
    const joinedTo = (id: string) => (joined.get(id) ?? []).map((person) => ({ ...person, as: [person.as] }));
    const ofParents = through('parent', above.flatMap(joinedTo));
    const stored = as('workflow', storers);
    // Its parents pinned the same documents.
    const ofDocuments = above.length === 0 ? stored : through('parent', stored);
    return merged([...run.involved, ...ofDocuments, ...joinedTo(run.id), ...ofParents]);
  };
  const whyGone: RunPeople['whyGone'] = ({ id, username }) =>
    needs.isGone(id)
      ? { by: 'person-gone', detail: `${username}, in whose name the run calls, was removed or is blocked.` }
      : undefined;
  const answering = createAnswering(needs);
  return {
    async involved(run) {
      const storers = await storersOf(digestsOf(run));
      return await involvedOf(run, [...storers.values()].flat());
    },
    whyGone,
    async standing(run) {
      const gone = whyGone(run.principal);
      if (gone !== undefined) return gone;
      const digest = run.workflowDigest ?? (await needs.digestOf({ id: run.workflow, version: run.version })) ?? '';
      const chain = [...run.above, digest];
      const storers = await storersOf([...new Set([...digestsOf(run), ...chain])]);
      const answerable = await answering(chain, storers, run.authors);
      if ('detail' in answerable) return { by: 'delegation-lost', detail: answerable.detail };
      const writers = await answering([digest], storers, run.authors);
      if ('detail' in writers) return { by: 'delegation-lost', detail: writers.detail };
      return { answerable, writers, involved: await involvedOf(run, [...storers.values()].flat()) };
    },
    async whyLost(documents, authors) {
      const storers = new Map(documents.map(({ pin }) => [pin.digest, pin.storers]));
      for (const document of documents) {
        const { pin, functions, chain } = document;
        const people = await answering([...chain], storers, authors);
        if ('detail' in people) return people;
        for (const person of people) {
          const missing = needs.whyNotCall(person, functions);
          if (missing !== undefined)
            return lostBy(`${person.username} answers for ${pin.id} ${pin.version}, and may not call ${missing}.`);
        }
        const writers = await answering([pin.digest], storers, authors);
        if ('detail' in writers) return writers;
        const refused = await needs.whyNotSecrets(document, writers);
        if (refused !== undefined) return lostBy(refused);
      }
      return undefined;
    },
  };
}

function lostBy(detail: string): LostAnswer {
  return { detail, isUnseen: false };
}

/** Answers the authors, and who stored each document of the chain; or why one of them does not answer for calls any more. */
function createAnswering({ principalNow, isGone }: Pick<RunPeopleNeeds, 'principalNow' | 'isGone'>) {
  return async (
    chain: readonly string[],
    storers: ReadonlyMap<string, readonly Storer[]>,
    authors: readonly NamedPrincipal[] | undefined,
  ): Promise<readonly Principal[] | LostAnswer> => {
    if (authors?.length === 0) return lostBy('The automation has no author; somebody who may write its workflow has to take it.');
    const people = new Map((authors ?? []).map((author) => [author.id, author]));
    for (const digest of chain) {
      const lending = (storers.get(digest) ?? []).filter(({ lends }) => lends);
      if (lending.length === 0) return lostBy('Who stored the workflow is not known; somebody who may write it has to take it.');
      for (const storer of lending) people.set(storer.id, storer);
    }
    const found: Principal[] = [];
    for (const { id, username } of people.values()) {
      const principal = await principalNow(id);
      if (principal === undefined) {
        const detail = `${username} answers for the calls of the run, and the gateway does not know this principal any more.`;
        return { detail, isUnseen: !isGone(id) };
      }
      found.push(principal);
    }
    return found;
  };
}

function digestsOf({ pins = [] }: Pick<PeopledRun, 'pins'>): readonly string[] {
  return pins.map(({ digest }) => digest);
}

/** The ids of the runs around a run, the nearest first: the id of a child begins with that of its parent (`childRunId`). */
function runsAbove(id: string): readonly string[] {
  const parts = id.split('.');
  const above: string[] = [];
  for (let length = parts.length - 2; length > 0; length -= 2) above.push(parts.slice(0, length).join('.'));
  return above;
}

/** A run that an agent started, and its children, match rules for agents and for runs. */
export function entrancesOf({ entrance }: Pick<NewRun, 'entrance'>): readonly Entrance[] {
  return entrance === undefined ? ['run'] : [entrance, 'run'];
}

interface BeginningRun extends Pick<NewRun, 'principal' | 'startedBy'> {
  readonly people: PeopleOfRun;
  readonly pins: readonly WorkflowPin[];
  /** Of a repetition: who was involved in the run before. */
  readonly repeated: readonly InvolvedPrincipal[];
}

/** Of an outermost run. */
export function involvedAtStart({ principal, startedBy, people, pins, repeated }: BeginningRun): readonly InvolvedPrincipal[] {
  const { authors, earlierAuthors, resumer, formWriter } = people;
  return merged([
    ...starterOf(principal, startedBy),
    ...as('resumer', 'due' in startedBy ? [resumer] : []),
    ...as('author', [...authors, ...earlierAuthors]),
    ...as(
      'workflow',
      pins.flatMap(({ storers }) => storers),
    ),
    ...as('form', [formWriter]),
    ...through('repeated', repeated),
  ]);
}

/** One entry for each principal, with everything that it did. */
export function merged(people: readonly InvolvedPrincipal[]): readonly InvolvedPrincipal[] {
  const byId = Map.groupBy(people, ({ id }) => id);
  return [...byId.values()].flatMap((entries) => {
    const [first] = entries;
    if (first === undefined) return [];
    const did = new Set(entries.flatMap((entry) => entry.as));
    return [{ id: first.id, username: first.username, as: involvements.filter((each) => did.has(each)) }];
  });
}

/** The people of another run with what they did there, since `selfApproval: authors` tells authors from those who began it. */
export function through(run: 'parent' | 'repeated', people: readonly InvolvedPrincipal[]): readonly InvolvedPrincipal[] {
  return people.map((person) => ({ ...person, as: [...person.as, run] }));
}

function as(involvement: Involvement, people: readonly (NamedPrincipal | undefined)[]): readonly InvolvedPrincipal[] {
  return people.flatMap((person) =>
    person === undefined ? [] : [{ id: person.id, username: person.username, as: [involvement] }],
  );
}

/** Commands of one transaction. */
const toldAtOnce = 500;

/**
 * Tells each run that calls in the name of a principal that was removed or blocked, and its holder suspends it. A run that waits for a day
 * would otherwise learn of it after that day. Rejects with `store-unavailable`.
 */
export async function tellRunsOfGonePeople(
  store: Pick<RunStore, 'callingPrincipals' | 'callingRuns' | 'changeWith'>,
  { whyGone }: Pick<RunPeople, 'whyGone'>,
): Promise<void> {
  for (const principal of await store.callingPrincipals()) {
    if (whyGone(principal) === undefined) continue;
    const runs = await store.callingRuns(principal.id);
    for (let start = 0; start < runs.length; start += toldAtOnce) {
      const told = runs.slice(start, start + toldAtOnce);
      const commands = told.map((run) => ({ run, command: { kind: 'people-changed' as const } }));
      await store.changeWith(async () => ({ result: undefined, commands }));
    }
  }
}
