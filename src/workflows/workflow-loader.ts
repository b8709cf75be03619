import { createHash } from 'node:crypto';
import { GatewayError } from '#base/gateway-error.ts';
import type { ReadingThreads } from './reading-threads.ts';
import type { Workflow } from './workflow.ts';
import type { WorkflowStore, WriterRole } from './workflow-store.ts';

/** A stored workflow, ready to be run. */
export interface LoadedWorkflow {
  readonly workflow: Workflow;
  readonly writtenAs: WriterRole;
}

/** The stored workflows as values. Remembers those that were used last. */
export interface WorkflowLoader {
  /**
   * A version of a workflow, or the newest where none is named or `latest` is; undefined where it does not exist. Rejects with
   * `workflow-invalid` where the gateway cannot read the document any more, and with `store-unavailable`.
   */
  load(name: { readonly id: string; readonly version?: string | undefined }): Promise<LoadedWorkflow | undefined>;
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
    if (stored === undefined) return undefined;
    // A version can be deleted and stored again with other content.
    const key = `${id} ${stored.version} ${createHash('sha256').update(stored.text).digest('base64url')}`;
    try {
      return { workflow: await remember(key, stored.text), writtenAs: stored.writtenAs };
    } catch (error) {
      forget(key);
      throw error;
    }
  };
  return { load: ({ id, version }) => read(id, version === 'latest' ? undefined : version) };
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
