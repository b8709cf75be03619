import { createRights } from '#access/rights.ts';
import { type CallPath, createCallPath } from '#calls/call-path.ts';
import { createPreviews, type TakePreview } from '#previews/preview.ts';
import type { LiveParts } from './live-parts.ts';
import { type Approvals, openApprovals } from './open-approvals.ts';
import { openCatalogues } from './open-catalogues.ts';
import { type NotificationParts, openNotifications } from './open-notifications.ts';
import { openRuns, type Runs, runStoreOf } from './open-runs.ts';

type RunNeeds = Parameters<typeof openRuns>[1];

/** Of the process and its store. */
type Opened = Pick<RunNeeds, 'config' | 'database' | 'audit' | 'auditReader' | 'clock' | 'log' | 'version'>;

interface CallNeeds
  extends Pick<RunNeeds, 'metrics' | 'runWatcher' | 'tracing'>,
    Pick<Parameters<typeof openNotifications>[1], 'pooled' | 'resolve' | 'userAgent'> {
  readonly live: LiveParts;
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
  readonly notifications: NotificationParts;
}

/** Opens the path of calls with its approvals and previews, the runs, which make calls themselves, and the notifications of all that. */
export function openCalls(started: AsyncDisposableStack, options: Opened, parts: CallNeeds): CallParts {
  const { live, base, userAgent, metrics } = parts;
  const { audit, clock, log } = options;
  const runStore = runStoreOf(started, options);
  const rights = createRights(() => live.customRoles());
  // The path asks approvals, which take previews over the path.
  const approvals = openApprovals(started, { ...options, rights, runStore, base, preview: (...asked) => preview(...asked) });
  const calls = createCallPath({ ...live, gate: approvals.gate, userAgent });
  const preview = createPreviews({ adapters: () => live.adapters(), calls, audit, clock, observers: { metrics, log } });
  const catalogues = openCatalogues(started, { ...options, live, rights });
  const runs = openRuns(started, { ...options, ...parts, ...catalogues, rights, runStore, approvals, calls });
  const notifications = openNotifications(started, { ...options, ...parts, events: runStore, adapters: () => live.adapters() });
  const told = { approvals: approvals.catalogue, notifications: notifications.catalogue };
  return { calls, preview, catalogues: { ...catalogues, ...told }, runs, notifications };
}
