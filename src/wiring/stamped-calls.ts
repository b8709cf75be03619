import type { FoundCommit } from '#adapters/commit-stamps.ts';
import type { StampsCall } from '#http/routes/approval-texts.ts';
import type { TaskRouteNeeds } from '#http/routes/runs/task-routes.ts';
import type { LiveParts } from './live-parts.ts';

type LiveAdapters = Pick<LiveParts, 'adapters'>;

/** By the adapter instance in force, which may be another one than that of the call. */
export async function findCommit(
  live: LiveAdapters,
  { adapter, label }: Parameters<TaskRouteNeeds['findCommit']>[0],
): Promise<FoundCommit> {
  const found = live
    .adapters()
    .all()
    .find(({ name }) => name === adapter);
  return found === undefined ? { unknown: `There is no adapter instance "${adapter}" any more.` } : await found.findCommit(label);
}

export function stampsCall(live: LiveAdapters, { adapter, ...call }: Parameters<StampsCall>[0]): boolean {
  const found = live
    .adapters()
    .all()
    .find(({ name }) => name === adapter);
  return found?.stamps({ ...call, contentType: call.contentType ?? found.defaultContentType(call.path) }) ?? false;
}
