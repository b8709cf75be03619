import { type CallPath, createCallPath } from '#calls/call-path.ts';
import { createPreviews, type TakePreview } from '#previews/preview.ts';
import type { LiveParts } from './live-parts.ts';
import { type Approvals, openApprovals } from './open-approvals.ts';
import { openCatalogues } from './open-catalogues.ts';
import { openRuns, type Runs, runStoreOf } from './open-runs.ts';

type RunNeeds = Parameters<typeof openRuns>[1];

/** Of the process and its store. */
type Opened = Pick<RunNeeds, 'config' | 'database' | 'audit' | 'clock' | 'log' | 'version'>;

interface CallNeeds extends Pick<RunNeeds, 'metrics' | 'runWatcher' | 'tracing'> {
  readonly live: LiveParts;
  readonly base: string;
  readonly userAgent: string;
}

interface CallParts {
  readonly calls: CallPath;
  readonly preview: TakePreview;
  readonly catalogues: ReturnType<typeof openCatalogues>;
  readonly approvals: Approvals;
  readonly runs: Runs;
}

/** Opens the path of calls with its approvals and previews, and the runs, which make calls themselves. */
export function openCalls(started: AsyncDisposableStack, options: Opened, parts: CallNeeds): CallParts {
  const { live, base, userAgent, metrics } = parts;
  const { audit, clock, log } = options;
  const runStore = runStoreOf(started, options);
  // The path asks approvals, which take previews over the path.
  const approvals = openApprovals(started, { ...options, runStore, base, preview: (...asked) => preview(...asked) });
  const calls = createCallPath({ ...live, gate: approvals.gate, userAgent });
  const preview = createPreviews({ calls, audit, clock, observers: { metrics, log } });
  const catalogues = openCatalogues(started, { ...options, live });
  const runs = openRuns(started, { ...options, ...parts, ...catalogues, runStore, approvals, calls });
  return { calls, preview, catalogues, approvals, runs };
}
