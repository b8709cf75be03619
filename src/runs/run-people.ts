import type { InvolvedPrincipal, NamedPrincipal, PrincipalNow } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Storer } from '#workflows/storer.ts';
import type { ReachedWorkflow } from '#workflows/workflow-pins.ts';
import type { HoldReason } from './interpreter/suspension.ts';
import { as, merged, through } from './involved-people.ts';
import type { StoredRunSummary } from './run-queries.ts';
import type { RunStore } from './run-store.ts';

/** A run as far as its people need it. */
export type PeopledRun = Pick<
  StoredRunSummary,
  'id' | 'automation' | 'workflow' | 'version' | 'principal' | 'workflowDigest' | 'pins' | 'above' | 'authors' | 'involved'
>;

/** Why a run must not go on, in words for people. */
export interface LostStanding {
  readonly by: HoldReason;
  readonly detail: string;
}

/** Everyone who answers for the calls of a run, with the roles and groups of now, and everyone who has a hand in them. */
export interface RunStanding {
  readonly answerable: readonly Principal[];
  readonly involved: readonly InvolvedPrincipal[];
  /** Of those who are answerable: the storers of the run's own document, and the authors of its automation. */
  readonly writers: readonly Principal[];
}

/** Judges the people behind runs by what they are now. Every method rejects with `store-unavailable`. */
export interface RunPeople {
  /** Everyone who has had a hand in the run up to now. */
  involved(run: PeopledRun): Promise<readonly InvolvedPrincipal[]>;
  /** For the calls of a run. */
  standing(run: PeopledRun): Promise<RunStanding | LostStanding>;
  /** Why the starter or scheduler is gone: it was removed or blocked. An issuer's person may only not have been seen for long. */
  whyGone(principal: NamedPrincipal): LostStanding | undefined;
  /** Why a run of these documents must not begin; undefined where it may. */
  whyLost(documents: readonly ReachedWorkflow[], authors: readonly NamedPrincipal[] | undefined): Promise<LostAnswer | undefined>;
}

/** Why somebody does not answer for a call any more. */
export interface LostAnswer {
  /** A sentence. */
  readonly detail: string;
  /** It is a person of an issuer, whose last token is too old. */
  readonly isUnseen: boolean;
}

interface RunPeopleNeeds {
  readonly store: Pick<RunStore, 'people'>;
  readonly principalNow: PrincipalNow;
  /** See `Principals`. */
  readonly isGone: (id: string) => boolean;
  /** Who stored the bytes with these digests, by digest, as it is now. */
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

/** Everyone who answers for calls, or why somebody does not any more. */
function createAnswering({ principalNow, isGone }: Pick<RunPeopleNeeds, 'principalNow' | 'isGone'>) {
  return async (...asked: Parameters<typeof answerersOf>): Promise<readonly Principal[] | LostAnswer> => {
    const people = answerersOf(...asked);
    if (typeof people === 'string') return lostBy(people);
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

/** The authors, and who stored each document of the chain; a sentence where one of them is missing. By id. */
function answerersOf(
  chain: readonly string[],
  storers: ReadonlyMap<string, readonly Storer[]>,
  authors: readonly NamedPrincipal[] | undefined,
): ReadonlyMap<string, NamedPrincipal> | string {
  if (authors?.length === 0) return 'The automation has no author; somebody who may write its workflow has to take it.';
  const people = new Map((authors ?? []).map((author) => [author.id, author]));
  for (const digest of chain) {
    const lending = (storers.get(digest) ?? []).filter(({ lends }) => lends);
    if (lending.length === 0) return 'Who stored the workflow is not known; somebody who may write it has to take it.';
    for (const storer of lending) people.set(storer.id, storer);
  }
  return people;
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
