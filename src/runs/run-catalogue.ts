import type { Principal } from '#access/principal.ts';
import type { VisiblePage } from '#base/visible-page.ts';
import { withOrigin } from '#workflows/own-events.ts';
import { createRunSight } from './run-access.ts';
import { callsOfRun, type RunCallPage, type RunCallsRequest } from './run-calls.ts';
import { createRunFinder } from './run-finder.ts';
import { createRunFollower, type EventPages, type FollowOptions } from './run-follower.ts';
import { listVisible, type RunListRequest, type RunPage, taskPage } from './run-listing.ts';
import type { NewEvent, StoredRun, TaskRecord } from './run-records.ts';
import type { RerunRequest, RunCatalogueNeeds, RunDecision, RunRequest, StartedRun, StartRequest } from './run-requests.ts';
import { createRunStarts } from './run-starts.ts';
import { createRunSteering } from './run-steering.ts';

/**
 * The runs for a principal. A run that it may not see is `run-not-found` (404). What it may not do is `forbidden` (403). A change that the
 * run's state does not allow is `run-conflict` (409). Every operation rejects with `store-unavailable` (503) where the store does.
 */
export interface RunCatalogue {
  /**
   * `replayed`: an earlier request with the key started the run. Also `workflow-not-found` and `delegation-lost` (409), `invalid-request` (400),
   * and `forbidden` for a version that the principal may not choose.
   */
  start(request: StartRequest): Promise<StartedRun>;
  read(request: RunRequest): Promise<StoredRun>;
  /** The newest first. A page may have fewer runs than its limit, and still a `next`. */
  list(request: RunListRequest): Promise<RunPage>;
  /** A place is the number of a task. */
  tasks(
    request: RunRequest & { readonly limit: number; readonly after?: number | undefined },
  ): Promise<VisiblePage<TaskRecord, number>>;
  /** The calls of its tasks that are on record, the oldest first. */
  calls(request: RunCallsRequest): Promise<RunCallPage>;
  cancel(request: RunRequest): Promise<StoredRun>;
  suspend(request: RunRequest): Promise<StoredRun>;
  resume(request: RunRequest): Promise<StoredRun>;
  /** `resumes`: asked by `resume`, which needs its own operation too. */
  decide(request: RunRequest & { readonly decision: RunDecision; readonly resumes?: boolean }): Promise<StoredRun>;
  /**
   * A new run of the same automation, which belongs to the principal. Also `run-has-parent`, `version-superseded` and `delegation-lost` (409),
   * and as `start`.
   */
  rerun(request: RerunRequest): Promise<StartedRun>;
  /** Hands events to the runs that listen. The role is checked already. One with the `source` and `id` of an earlier one of the principal is dropped. */
  publish(request: { readonly principal: Principal; readonly events: readonly Pick<NewEvent, 'event'>[] }): Promise<void>;
  /** See `RunFollower.run`. */
  follow(request: RunRequest & FollowOptions): Promise<EventPages | undefined>;
  /** See `RunFollower.all`. */
  followAll(request: { readonly principal: Principal } & FollowOptions): Promise<EventPages>;
}

export function createRunCatalogue(needs: RunCatalogueNeeds): RunCatalogue {
  const { store, clock, rights } = needs;
  const sight = createRunSight(needs);
  const follower = createRunFollower({ store, clock, sight, rights });
  const finder = createRunFinder(needs);
  return {
    ...createRunStarts(needs, finder),
    ...createRunSteering(needs, finder),
    read: async (request) => finder.whole((await finder.visible(request, 'readRun')).run.id),
    list: (request) => listVisible(request, { store, sight }),
    async tasks({ limit, after, ...request }) {
      const { run } = await finder.visible(request, 'listRunTasks');
      return await taskPage(store, run.id, { limit, after });
    },
    async calls({ task, limit, after, ...request }) {
      const { run } = await finder.visible(request, 'listRunCalls');
      return await callsOfRun(run, { task, limit, after }, needs);
    },
    async publish({ principal: { id, username }, events }) {
      await needs.quota.require({ id });
      const senders = [{ id, username }];
      await store.publish(
        events.map(({ event }) => ({ at: clock.now(), kind: 'message', event: withOrigin(event, { sender: id }), senders })),
      );
    },
    async follow({ after, signal, ...request }) {
      const { run } = await finder.visible(request, 'followRun');
      return await follower.run({ id: run.id, hasEnded: run.endedAt !== undefined }, { after, signal });
    },
    followAll: ({ principal, ...options }) => follower.all(principal, options),
  };
}
