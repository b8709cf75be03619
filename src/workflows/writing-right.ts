import type { Principal } from '#access/principal.ts';
import { adminFunction } from './operations.ts';
import type { WorkflowStore, WorkflowVersion } from './workflow-store.ts';

type WorkflowCalls = Pick<WorkflowVersion, 'id' | 'version' | 'functions' | 'workflows'>;

/** What of the workflows, or of those that they run, needs the role admin; undefined where nothing does. */
export async function whyAdmin(
  store: Pick<WorkflowStore, 'read'>,
  workflows: readonly WorkflowCalls[],
): Promise<string | undefined> {
  const open = [...workflows];
  const seen = new Set(workflows.map(({ id, version }) => `${id} ${version}`));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const called = adminFunction(next);
    if (called !== undefined) return `calls ${called}${next === workflows[0] ? '' : ` in ${next.id} ${next.version}`}`;
    for (const { id, version } of next.workflows) {
      // Either of them can get such calls later.
      if (version === 'latest') return `runs the latest version of ${id}, which may change; name a version`;
      const name = `${id} ${version}`;
      if (seen.has(name)) continue;
      seen.add(name);
      const run = await store.read({ id, version });
      if (run === undefined) return `runs ${name}, which does not exist`;
      open.push(run);
    }
  }
  return undefined;
}

/**
 * Why a principal with the role admin or engineering may not write the workflow with this id; undefined where it may. Every version counts:
 * which one runs is decided when a run begins. A workflow that does not exist may be named.
 */
export async function whyNotWriter(
  store: Pick<WorkflowStore, 'read' | 'versions'>,
  { roles }: Pick<Principal, 'roles'>,
  id: string,
): Promise<string | undefined> {
  if (roles.includes('admin')) return undefined;
  const reason = await whyAdmin(store, await store.versions(id));
  return reason === undefined ? undefined : `needs the role admin, because it ${reason}`;
}
