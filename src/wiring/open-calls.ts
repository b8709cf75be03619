import type { Access } from '#access/access.ts';
import { createRights, type Rights } from '#access/rights/rights.ts';
import { type CallPath, createCallPath } from '#calls/call-path.ts';
import { createPreviews, type TakePreview } from '#previews/preview.ts';
import { createBodyMask } from '#relay/body-mask.ts';
import { itemMaskOf } from '#runs/catalogue/batch-items.ts';
import type { RunStore } from '#runs/journal/run-store.ts';
import type { RunPeople } from '#runs/people/run-people.ts';
import { createSecretValues, type SecretValues } from '#runs/secrets/secret-values.ts';
import type { WorkflowLoader } from '#workflows/catalogue/workflow-loader.ts';
import type { LiveParts } from './live-parts.ts';
import { type Approvals, openApprovals } from './open-approvals.ts';
import { openCatalogues } from './open-catalogues.ts';
import { type NotificationParts, openNotifications } from './open-notifications.ts';
import { openRuns, type Runs, runStoreOf } from './open-runs.ts';
import { runPeopleOf } from './people-of-runs.ts';

type RunNeeds = Parameters<typeof openRuns>[1];

/** Of the process and its store. */
type Opened = Pick<
  RunNeeds,
  'config' | 'database' | 'audit' | 'auditReader' | 'clock' | 'log' | 'losses' | 'steady' | 'version'
> &
  Pick<Parameters<typeof openApprovals>[1], 'proofKey' | 'proofs'>;

interface CallNeeds
  extends Pick<RunNeeds, 'metrics' | 'runWatcher' | 'tracing' | 'limitReached' | 'requireRoom'>,
    Pick<Parameters<typeof openNotifications>[1], 'pooled' | 'resolve' | 'userAgent'> {
  readonly live: LiveParts;
  readonly access: Parameters<typeof openApprovals>[1]['access'] & Pick<Access, 'orchestratorNames'>;
  readonly base: string;
}

interface CallParts {
  readonly calls: CallPath;
  readonly preview: TakePreview;
  readonly catalogues: ReturnType<typeof openCatalogues> & {
    readonly approvals: Approvals['catalogue'];
    readonly notifications: NotificationParts['catalogue'];
  };
  readonly approvalsBy: Approvals['catalogueBy'];
  readonly endApproval: Approvals['end'];
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
  const { audit, clock, log, config } = options;
  const runStore = runStoreOf(started, { ...options, limitReached, requireRoom, persons: access.persons });
  const rights = createRights(() => live.customRoles());
  const catalogues = openCatalogues(started, { ...options, live, rights, runStore, limitReached });
  const { workflowStore, secretUse, loader } = catalogues;
  const secrets = createSecretValues(() => live.secrets());
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
    maskOf: (id) => maskOfRun(id, { runStore, loader, secrets }),
  });
  options.losses.connect(started, { audit, store: runStore, endApprovals: approvals.endAllIn });
  const maskBody = createBodyMask(config.audit.mask);
  const identities = { ...access, names: access.orchestratorNames };
  const calls = createCallPath({ ...live, gate: approvals.gate, identities, maskBody, userAgent });
  const preview = createPreviews({ adapters: () => live.adapters(), calls, audit, clock, observers: { metrics, log } });
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
    secrets,
    isReadAction: (adapter, path) => live.adapters().isReadAction(adapter, path),
  });
  const notifications = openNotifications(started, { ...options, ...parts, events: runStore, adapters: () => live.adapters() });
  return {
    calls,
    preview,
    catalogues: { ...catalogues, approvals: approvals.catalogue, notifications: notifications.catalogue },
    approvalsBy: approvals.catalogueBy,
    endApproval: approvals.end,
    runs,
    people,
    rights,
    notifications,
    async inForce() {
      await Promise.all([approvals.upkeep.withdrawLost(), runs.suspendGone()]);
    },
  };
}

/** Masks what the items of a batch of that run have. */
async function maskOfRun(
  id: string,
  { runStore, loader, secrets }: { readonly runStore: RunStore; readonly loader: WorkflowLoader; readonly secrets: SecretValues },
): Promise<(text: string) => string> {
  const run = await runStore.summary(id);
  if (run === undefined) return (text) => text;
  return await itemMaskOf(run, { store: runStore, secrets, workflow: (name) => loader.load(name) });
}
