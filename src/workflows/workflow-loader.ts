import { GatewayError } from '#base/gateway-error.ts';
import { documentDigest } from './document-digest.ts';
import type { ReadingThreads } from './reading-threads.ts';
import { isPrerelease } from './version-key.ts';
import type { Workflow } from './workflow.ts';
import type { StoredWorkflow, WorkflowStore } from './workflow-store.ts';

/** A stored workflow, ready to be run. */
export interface LoadedWorkflow extends Pick<StoredWorkflow, 'digest' | 'storers'> {
  readonly workflow: Workflow;
}

/** Which workflow: without a version, or with `latest`, the highest release. With a digest only these bytes. */
interface WantedWorkflow {
  readonly id: string;
  readonly version?: string | undefined;
  /** SHA-256 of the bytes, hexadecimal. */
  readonly digest?: string | undefined;
}

/** The stored workflows as values. Remembers those that were used last. */
export interface WorkflowLoader {
  /**
   * Undefined where the store does not have it. Rejects with `workflow-invalid` where the gateway cannot read the document any more, and
   * with `store-unavailable`.
   */
  load(wanted: WantedWorkflow): Promise<LoadedWorkflow | undefined>;
}

interface WorkflowLoaderOptions {
  readonly store: Pick<WorkflowStore, 'read'>;
  readonly reading: Pick<ReadingThreads, 'load'>;
  /** Characters of documents whose workflows are remembered. */
  readonly remembered?: number;
}

export function createWorkflowLoader({ store, reading, remembered = 32 * 1024 ** 2 }: WorkflowLoaderOptions): WorkflowLoader {
  /** The one that was used last comes last. */
  const known = new Map<string, { readonly workflow: Promise<Workflow>; readonly size: number }>();
  let size = 0;
  const forget = (key: string): void => {
    size -= known.get(key)?.size ?? 0;
    known.delete(key);
  };
  const remember = (key: string, text: string): Promise<Workflow> => {
    const found = known.get(key) ?? { workflow: workflowIn(reading, text), size: text.length };
    forget(key);
    known.set(key, found);
    size += found.size;
    for (const oldest of known.keys()) {
      if (size <= remembered) break;
      forget(oldest);
    }
    return found.workflow;
  };
  const read = async (id: string, version: string | undefined): Promise<LoadedWorkflow | undefined> => {
    const stored = await store.read({ id, version });
    if (stored === undefined || (version === undefined && isPrerelease(stored.version))) return undefined;
    // Of the bytes themselves, and not the one in the row: a writer of the database may have changed them.
    const digest = documentDigest(stored.text);
    const key = `${id} ${stored.version} ${digest}`;
    try {
      return { workflow: await remember(key, stored.text), digest, storers: stored.storers };
    } catch (error) {
      forget(key);
      throw error;
    }
  };
  return {
    async load({ id, version, digest }) {
      const loaded = await read(id, version === 'latest' ? undefined : version);
      return digest === undefined || loaded?.digest === digest ? loaded : undefined;
    },
  };
}

async function workflowIn(reading: Pick<ReadingThreads, 'load'>, text: string): Promise<Workflow> {
  const loaded = await reading.load(text);
  if ('workflow' in loaded) return loaded.workflow;
  const [first] = loaded.problems;
  throw new GatewayError(
    'workflow-invalid',
    `The stored document is no workflow that can run (${first?.pointer ?? ''} ${first?.detail ?? ''}); store a new version of it.`,
    { errors: loaded.problems },
  );
}
