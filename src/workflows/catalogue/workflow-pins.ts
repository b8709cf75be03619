import { defined } from '#base/text/defined.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import type { Storer } from './workflow-row.ts';
import type { WorkflowName, WorkflowStore, WorkflowVersion } from './workflow-store.ts';

/** These bytes, and no others under the same version. */
export interface WorkflowPin {
  readonly id: string;
  readonly version: string;
  /** SHA-256, hexadecimal. */
  readonly digest: string;
  /** `latest` of its id means this one for the run. */
  readonly isLatest?: true | undefined;
  /** When the run began. */
  readonly storers: readonly Storer[];
  /** As of the workflow. */
  readonly lowest?: number | undefined;
}

export interface ReachedWorkflow {
  readonly pin: WorkflowPin;
  readonly functions: WorkflowVersion['functions'];
  /** Absent: stored before the gateway noted them. */
  readonly secrets?: WorkflowVersion['secrets'];
  /** Digests of the documents that lead to it, its own included. */
  readonly chain: ReadonlySet<string>;
}

/** The document first, then all that it reaches by `run: workflow`. Leaves out what is not stored. Undefined: not even the first is. */
export async function reachedWorkflows(
  store: Pick<WorkflowStore, 'find'>,
  name: WorkflowName,
): Promise<readonly [ReachedWorkflow, ...ReachedWorkflow[]] | undefined> {
  const find = rememberFound(store);
  const root = await find(name);
  if (root === undefined) return undefined;
  const reached = new Map<string, Reached>();
  const open: Reaching[] = [{ version: root, isLatest: false, above: new Set() }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const chain = note(reached, next);
    if (chain === undefined) continue;
    for (const { id, version: named } of next.version.workflows) {
      const isLatest = named === 'latest';
      const version = await find({ id, version: isLatest ? undefined : named });
      if (version !== undefined) open.push({ version, isLatest, above: chain });
    }
  }
  const [first, ...others] = [...reached.values()].map(({ version, isLatest, chain }): ReachedWorkflow => {
    const { functions, secrets } = version;
    return defined({ pin: pinOf(version, isLatest), functions, secrets, chain });
  });
  return first && [first, ...others];
}

/** Throws 409 where a run of the documents needs a newer version. Call it before one of them is read. */
export function refuseNewerDocuments(documents: readonly ReachedWorkflow[]): void {
  for (const { pin } of documents) refuseNewerRow(`The workflow ${pin.id} ${pin.version}`, pin.lowest);
}

interface Reaching {
  readonly version: WorkflowVersion;
  readonly isLatest: boolean;
  readonly above: ReadonlySet<string>;
}

interface Reached {
  readonly version: WorkflowVersion;
  isLatest: boolean;
  readonly chain: Set<string>;
}

/** Undefined: this way to the document adds nothing. */
function note(reached: Map<string, Reached>, { version, isLatest, above }: Reaching): ReadonlySet<string> | undefined {
  const known = reached.get(version.digest);
  const entry = known ?? { version, isLatest: false, chain: new Set([version.digest]) };
  const size = entry.chain.size;
  for (const digest of above) entry.chain.add(digest);
  entry.isLatest ||= isLatest;
  reached.set(version.digest, entry);
  return known !== undefined && entry.chain.size === size ? undefined : entry.chain;
}

/** Each name means one document for the run, although the store may change. */
function rememberFound(store: Pick<WorkflowStore, 'find'>): WorkflowStore['find'] {
  const known = new Map<string, Promise<WorkflowVersion | undefined>>();
  return (name) => {
    const key = JSON.stringify([name.id, name.version]);
    const found = known.get(key) ?? store.find(name);
    known.set(key, found);
    return found;
  };
}

function pinOf({ id, version, digest, storers, lowest }: WorkflowVersion, isLatest: boolean): WorkflowPin {
  return { id, version, digest, storers, ...defined({ lowest }), ...(isLatest && { isLatest }) };
}

/** `version`: as the task names it. */
export function pinNamed(pins: readonly WorkflowPin[], { id, version }: Required<WorkflowName>): WorkflowPin | undefined {
  return pins.find((pin) => pin.id === id && (version === 'latest' ? pin.isLatest === true : pin.version === version));
}
