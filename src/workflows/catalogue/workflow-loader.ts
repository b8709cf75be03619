import { GatewayError } from '#base/gateway-error.ts';
import type { ReadingThreads } from '../reading-threads.ts';
import type { Workflow } from '../workflow.ts';
import { isPrerelease } from './version-key.ts';
import { documentDigest } from './workflow-row.ts';
import type { StoredWorkflow, WorkflowStore } from './workflow-store.ts';

export interface LoadedWorkflow extends Pick<StoredWorkflow, 'digest' | 'storers'> {
  readonly workflow: Workflow;
}

/** Without a version, or with `latest`, the highest release. With a digest (SHA-256, hexadecimal) only these bytes. */
interface WantedWorkflow {
  readonly id: string;
  readonly version?: string | undefined;
  readonly digest?: string | undefined;
}

/** Remembers the workflows that were used last. */
export interface WorkflowLoader {
  /** Undefined: not stored. Rejects with `workflow-invalid` (the document cannot be read any more), `store-unavailable`. */
  load(wanted: WantedWorkflow): Promise<LoadedWorkflow | undefined>;
}

interface WorkflowLoaderOptions {
  readonly store: Pick<WorkflowStore, 'read'>;
  readonly reading: Pick<ReadingThreads, 'load'>;
  /** Characters of documents. */
  readonly remembered?: number;
}

export function createWorkflowLoader({ store, reading, remembered = 32 * 1024 ** 2 }: WorkflowLoaderOptions): WorkflowLoader {
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
    // Computed, not read from the row: somebody may have changed the bytes in the database.
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
