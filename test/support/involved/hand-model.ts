/**
 * What the contract says about the people of a call: who had a hand in a run, and who may approve its calls. The model is written from that text, and
 * shares no code with the gateway. It learns from replies only which changes the gateway accepted.
 */

export const persons = {
  ada: { roles: ['admin'], groups: [] },
  bob: { roles: ['admin'], groups: ['leads'] },
  eve: { roles: ['engineering'], groups: ['leads'] },
  ian: { roles: ['engineering'], groups: ['leads', 'noc'] },
  otto: { roles: ['other'], groups: ['noc'] },
  lea: { roles: ['readonly'], groups: ['leads'] },
  kim: { roles: [], groups: ['board'] },
  leo: { roles: [], groups: ['board'] },
} as const satisfies Readonly<Record<string, { readonly roles: readonly string[]; readonly groups: readonly string[] }>>;

export type Person = keyof typeof persons;

export const everyone = Object.keys(persons) as readonly Person[];

/** Approvers of every rule and question. */
export const approverGroups = ['leads', 'board'];

export function isApprover(person: Person): boolean {
  return persons[person].groups.some((group) => approverGroups.includes(group));
}

/** What a person did. `parent` and `repeated` say in which other run. */
export type Hand =
  | 'starter'
  | 'scheduler'
  | 'resumer'
  | 'author'
  | 'workflow'
  | 'form'
  | 'event'
  | 'decision'
  | 'parent'
  | 'repeated';

export type Hands = ReadonlyMap<Person, ReadonlySet<Hand>>;

/** People send `go`, and runs `on`. */
export type Event = 'go' | 'on';

/** How many approve a call, and whether those with a hand in it may be among them. */
export interface Gate {
  readonly self: false | 'authors' | true;
  readonly count: 1 | 2;
}

/** `act`: a call that a rule puts before people. `ask`: a question. `unsure`: a call whose outcome is unknown. `child`: another workflow. */
export type Step =
  | { readonly kind: 'act' | 'ask'; readonly gate: Gate }
  | { readonly kind: 'listen' | 'emit'; readonly event: Event }
  | { readonly kind: 'unsure' }
  | { readonly kind: 'child'; readonly version: string };

/** Branches that go on side by side; most documents have one. */
export type Program = readonly (readonly Step[])[];

export interface ModelVersion {
  readonly version: string;
  readonly program: Program;
  readonly storers: Set<Person>;
}

/** A field of an automation that makes authors: who wrote its value, and who did before somebody else took it over. */
interface Field {
  author: Person;
  former: Set<Person>;
}

const authorFields = ['workflowId', 'workflowVersion', 'formId', 'gbac/read', 'gbac/write', 'input/a'] as const;

/** The people of an automation. */
export class ModelAutomation {
  readonly id: string;
  readonly name: string;
  readonly repeats: boolean;
  scheduler: Person | undefined;
  resumer: Person | undefined;
  hasForm = true;
  pinned: string | undefined;
  readonly #fields: Map<string, Field>;

  constructor({ id, name, repeats, by }: { id: string; name: string; repeats: boolean; by: Person }) {
    this.id = id;
    this.name = name;
    this.repeats = repeats;
    this.scheduler = repeats ? by : undefined;
    this.#fields = new Map(authorFields.map((field) => [field, { author: by, former: new Set() }]));
  }

  /** The person answers for the schedule of a scheduled automation as well. */
  changed(field: string, by: Person): void {
    this.#fields.set(field, { author: by, former: new Set() });
    if (this.repeats) this.scheduler = by;
  }

  taken(by: Person): void {
    for (const field of this.#fields.values()) {
      field.former.add(field.author).delete(by);
      field.author = by;
    }
    this.scheduler = by;
  }

  authors(): readonly Person[] {
    return [...this.#fields.values()].flatMap(({ author, former }) => [author, ...former]);
  }
}

export interface ModelApproval {
  readonly kind: 'act' | 'ask';
  readonly gate: Gate;
  readonly branch: number;
  /** As the gateway names it; known once it was seen. */
  id: string | undefined;
  readonly grants: Set<Person>;
  status: 'waiting' | 'used' | 'over';
}

/** What is fixed when a run begins. */
interface Beginning {
  readonly id: string;
  readonly automation: ModelAutomation;
  /** Who sends its calls. */
  readonly principal: Person;
  readonly program: Program;
  /** The documents that it can reach. */
  readonly pins: readonly ModelVersion[];
  readonly parent?: ModelRun | undefined;
  readonly hands: readonly (readonly [Person | undefined, Hand])[];
  readonly repeated?: Hands | undefined;
  /** How many events there were before it. */
  readonly since: number;
}

export class ModelRun {
  readonly given: Beginning;
  readonly at: number[];
  readonly approvals: ModelApproval[] = [];
  /** The numbers of the events that its listeners took. */
  readonly taken = new Set<number>();
  child: ModelRun | undefined;
  readonly isScheduled: boolean;
  hasEnded = false;
  readonly #joined: (readonly [Person, Hand])[] = [];

  constructor(given: Beginning) {
    this.given = given;
    this.at = given.program.map(() => 0);
    this.isScheduled = given.hands.some(([, hand]) => hand === 'scheduler');
  }

  joins(person: Person, hand: Hand): void {
    this.#joined.push([person, hand]);
  }

  /** Everybody who has had a hand in it up to now. */
  involved(): Hands {
    const all = new Map<Person, Set<Hand>>();
    const add = (person: Person | undefined, ...hands: readonly Hand[]): void => {
      if (person !== undefined) all.set(person, new Set([...(all.get(person) ?? []), ...hands]));
    };
    const { hands, pins, parent, repeated } = this.given;
    for (const [person, hand] of [...hands, ...this.#joined]) add(person, hand);
    for (const { storers } of pins) for (const storer of storers) add(storer, 'workflow');
    for (const [person, theirs] of parent?.involved() ?? []) add(person, ...theirs, 'parent');
    for (const [person, theirs] of repeated ?? []) add(person, ...theirs, 'repeated');
    return all;
  }

  /** The step that a branch is at; undefined where it has ended. */
  step(branch: number): Step | undefined {
    return this.given.program[branch]?.[this.at[branch] ?? 0];
  }

  /** It ends with all that is within it. Its open approvals are over. */
  end(): void {
    this.hasEnded = true;
    this.child?.end();
    for (const approval of this.approvals) if (approval.status === 'waiting') approval.status = 'over';
  }
}

/** With `authors`, these hands alone do not exclude. In which of the runs they were does not matter. */
const authorship: ReadonlySet<Hand> = new Set<Hand>(['author', 'workflow', 'form', 'parent', 'repeated']);

/** Whether the part that a person had in the call lets it approve. */
function isFree(run: ModelRun, { self }: Gate, person: Person): boolean {
  if (self === true) return true;
  if (person === run.given.principal) return false;
  const hands = run.involved().get(person);
  return hands === undefined || (self === 'authors' && [...hands].every((hand) => authorship.has(hand)));
}

/** The code of the first reason why the person may not grant; undefined where it may. */
export function whyNot(run: ModelRun, approval: ModelApproval, person: Person): string | undefined {
  if (approval.status !== 'waiting') return 'over';
  if (approval.grants.has(person)) return 'decided';
  if (!isFree(run, approval.gate, person)) return person === run.given.principal ? 'caller' : 'involved';
  return isApprover(person) ? undefined : 'not-approver';
}

/** Whether these grants let the call leave now. */
export function isGranted(run: ModelRun, { gate, grants }: ModelApproval): boolean {
  return [...grants].filter((person) => isFree(run, gate, person)).length >= gate.count;
}
