import { createRights, type Rights } from '#access/rights.ts';
import { type CallPath, createCallPath } from '#calls/call-path.ts';
import { createPreviews, type TakePreview } from '#previews/preview.ts';
import type { RunPeople } from '#runs/run-people.ts';
import type { LiveParts } from './live-parts.ts';
import { type Approvals, openApprovals } from './open-approvals.ts';
import { openCatalogues } from './open-catalogues.ts';
import { type NotificationParts, openNotifications } from './open-notifications.ts';
import { openRuns, type Runs, runStoreOf } from './open-runs.ts';
import { runPeopleOf } from './run-people-of.ts';

type RunNeeds = Parameters<typeof openRuns>[1];

/** Of the process and its store. */
type Opened = Pick<RunNeeds, 'config' | 'database' | 'audit' | 'auditReader' | 'clock' | 'log' | 'version'> &
  Pick<Parameters<typeof openApprovals>[1], 'proofKey' | 'proofs'>;

interface CallNeeds
  extends Pick<RunNeeds, 'metrics' | 'runWatcher' | 'tracing' | 'limitReached' | 'requireRoom'>,
    Pick<Parameters<typeof openNotifications>[1], 'pooled' | 'resolve' | 'userAgent'> {
  readonly live: LiveParts;
  readonly access: Parameters<typeof openApprovals>[1]['access'];
  readonly base: string;
}

interface CallParts {
  readonly calls: CallPath;
  readonly preview: TakePreview;
  readonly catalogues: ReturnType<typeof openCatalogues> & {
    readonly approvals: Approvals['catalogue'];
    readonly notifications: NotificationParts['catalogue'];
  };
  readonly runs: Runs;
  readonly people: RunPeople;
  readonly rights: Rights;
  readonly notifications: NotificationParts;
  /** To be called when a new configuration is in force. */
  readonly inForce: () => Promise<void>;
}

/** Opens the path of calls with its approvals and previews, the runs, which make calls themselves, and the notifications of all that. */
export function openCalls(started: AsyncDisposableStack, options: Opened, parts: CallNeeds): CallParts {
  const { live, access, base, userAgent, metrics, limitReached, requireRoom } = parts;
  const { audit, clock, log } = options;
  const runStore = runStoreOf(started, { ...options, limitReached, requireRoom, persons: access.persons });
  const rights = createRights(() => live.customRoles());
  const catalogues = openCatalogues(started, { ...options, live, rights, runStore, limitReached });
  const { workflowStore, secretUse } = catalogues;
  const people = runPeopleOf({ runStore, workflowStore, secretUse, live, ...access });
  // The path asks approvals, which take previews over the path.
  const approvals = openApprovals(started, {
    ...options,
    ...live,
    access,
    rights,
    runStore,
    people,
    base,
    limitReached,
    requireRoom,
    preview: (...asked) => preview(...asked),
    automation: async (id) => (await catalogues.automations.find(id))?.automation,
  });
  const calls = createCallPath({ ...live, gate: approvals.gate, userAgent });
  const preview = createPreviews({ adapters: () => live.adapters(), calls, audit, clock, observers: { metrics, log } });
  const isReadAction = (adapter: string, path: string): boolean => live.adapters().isReadAction(adapter, path);
  const runs = openRuns(started, {
    persons: access.persons,
    ...options,
    ...parts,
    ...catalogues,
    rights,
    runStore,
    approvals,
    calls,
    people,
    isReadAction,
  });
  const notifications = openNotifications(started, { ...options, ...parts, events: runStore, adapters: () => live.adapters() });
  const told = { approvals: approvals.catalogue, notifications: notifications.catalogue };
  return {
    calls,
    preview,
    catalogues: { ...catalogues, ...told },
    runs,
    people,
    rights,
    notifications,
    async inForce() {
      await Promise.all([approvals.upkeep.withdrawLost(), runs.suspendGone()]);
    },
  };
}
