import type { Principal } from '#access/principal.ts';
import type { TimeStep } from '#statistics/time-steps.ts';
import { withOrigin } from '#workflows/own-events.ts';
import type { NewEvent } from '../journal/run-records.ts';
import { createBatchDecisions } from './batch-decision.ts';
import { createRunVisibility } from './run-access.ts';
import { callsOfRun, type RunCallPage, type RunCallsRequest } from './run-calls.ts';
import { createRunFinder } from './run-finder.ts';
import { createRunFollower, type EventPages, type FollowOptions } from './run-follower.ts';
import { listVisible, type RunListRequest, type RunPage } from './run-listing.ts';
import type { RunCatalogueNeeds, RunRequest, WholeRun } from './run-requests.ts';
import { createRunStarts } from './run-starts.ts';
import { statisticsFor } from './run-statistics.ts';
import { createRunSteering } from './run-steering.ts';
import { createTaskReading } from './run-tasks.ts';

/**
 * The runs for a principal. A run that it may not see is `run-not-found` (404), and what it may not do `forbidden` (403). A change that the
 * run's state does not allow is `run-conflict` (409). Each operation rejects with `store-unavailable` (503) where the store does.
 */
export type RunCatalogue = ReturnType<typeof createRunCatalogue>;

export function createRunCatalogue(needs: RunCatalogueNeeds) {
  const { store, clock, rights } = needs;
  const visibility = createRunVisibility(needs);
  const follower = createRunFollower({ store, clock, visibility, rights });
  const finder = createRunFinder(needs);
  return {
    ...createRunStarts(needs, finder),
    ...createRunSteering(needs, finder),
    ...createBatchDecisions(needs, finder),
    ...createTaskReading(needs, finder),
    read: async (request: RunRequest): Promise<WholeRun> => finder.whole((await finder.visible(request, 'readRun')).run.id),
    /** The newest first. A page may have fewer runs than its limit, and still a `next`. */
    list: (request: RunListRequest): Promise<RunPage> => listVisible(request, { ...needs, visibility }),
    /** See `statisticsFor`. */
    statistics: (principal: Principal, steps: readonly TimeStep[]) => statisticsFor(principal, steps, { store, visibility }),
    /** Of automations that the caller may see: so it may see their runs. */
    lastRuns: (automations: readonly string[], most: number) => store.lastRuns(automations, most),
    async calls({ task, limit, after, ...request }: RunCallsRequest): Promise<RunCallPage> {
      const { run } = await finder.visible(request, 'listRunCalls');
      return await callsOfRun(run, { task, limit, after }, needs);
    },
    /**
     * Hands events to the runs that listen. The role is checked already. One with the `source` and `id` of an earlier one of the principal is
     * dropped.
     */
    async publish({
      principal: { id, username },
      events,
    }: {
      readonly principal: Principal;
      readonly events: readonly Pick<NewEvent, 'event'>[];
    }): Promise<void> {
      await needs.quota.require({ id });
      const senders = [{ id, username }];
      await store.publish(
        events.map(({ event }) => ({ at: clock.now(), kind: 'message', event: withOrigin(event, { sender: id }), senders })),
      );
    },
    /** See `RunFollower.run`. */
    async follow({ after, signal, ...request }: RunRequest & FollowOptions): Promise<EventPages | undefined> {
      const { run } = await finder.visible(request, 'followRun');
      return await follower.run({ id: run.id, hasEnded: run.endedAt !== undefined }, { after, signal });
    },
    /** See `RunFollower.all`. */
    followAll: ({ principal, ...options }: { readonly principal: Principal } & FollowOptions): Promise<EventPages> =>
      follower.all(principal, options),
  };
}
