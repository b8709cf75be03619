import { setTimeout as sleep } from 'node:timers/promises';
import type { Persons } from '#access/persons.ts';
import type { Rights } from '#access/rights.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { visibleTo } from '#automations/automation-visibility-store.ts';
import type { Clock } from '#base/clock.ts';
import { every } from '#base/every.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Log } from '#base/log.ts';
import type { Tracing } from '#base/tracing.ts';
import type { CallPath } from '#calls/call-path.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { RequireRoom } from '#database/reserve.ts';
import type { FormCatalogue } from '#forms/form-catalogue.ts';
import { createInputCheck, type InputCheck } from '#forms/input-check.ts';
import { tellRunsOfGonePeople } from '#runs/gone-people.ts';
import { usageOf } from '#runs/person-usage-store.ts';
import { mayHaveCalled } from '#runs/run-calls.ts';
import { createRunCatalogue, type RunCatalogue } from '#runs/run-catalogue.ts';
import { createRunEngine, type RunEngine } from '#runs/run-engine.ts';
import { createRunFigures, type RunFigures } from '#runs/run-figures.ts';
import { createRunLog } from '#runs/run-log.ts';
import type { RunPeople } from '#runs/run-people.ts';
import { createRunSpans } from '#runs/run-spans.ts';
import { createRunStore, type RunStore } from '#runs/run-store.ts';
import type { RunTools } from '#runs/run-tools.ts';
import type { RunWatcher } from '#runs/run-watcher.ts';
import { createStoreQuota, type StoreQuota } from '#runs/store-quota.ts';
import { createCallTasks } from '#runs/tasks/call-tasks.ts';
import { createDocumentThreads } from '#runs/tasks/document-threads.ts';
import type { IsReadAction } from '#runs/tasks/orchestrator-arguments.ts';
import { createSecretValues, type SecretValues } from '#runs/tasks/secret-values.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { measureRuns } from '#telemetry/run-metrics.ts';
import { createExpressionPool } from '#workflows/expression-pool.ts';
import type { SchemaThreads } from '#workflows/schema-threads.ts';
import type { WorkflowLoader } from '#workflows/workflow-loader.ts';
import { reachedWorkflows } from '#workflows/workflow-pins.ts';
import type { WorkflowStore } from '#workflows/workflow-store.ts';
import type { WritingRight } from '#workflows/writing-right.ts';
import type { LiveParts } from './live-parts.ts';
import type { Approvals } from './open-approvals.ts';
import { peopleFor } from './people-for.ts';

interface OpenRunsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly persons: Persons;
  readonly audit: AuditLog;
  readonly auditReader: AuditReader;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly log: Log;
  readonly live: Pick<LiveParts, 'secrets'>;
  readonly version: string;
  readonly metrics: Metrics;
  readonly runWatcher: RunWatcher;
  readonly tracing: Tracing | undefined;
  readonly calls: CallPath;
  readonly runStore: RunStore;
  readonly approvals: Approvals;
  readonly automations: AutomationCatalogue;
  readonly forms: FormCatalogue;
  readonly loader: WorkflowLoader;
  readonly workflowStore: WorkflowStore;
  readonly writing: Pick<WritingRight, 'whyNot'>;
  readonly people: RunPeople;
  readonly schemas: SchemaThreads;
  readonly limitReached: LimitReached;
  readonly requireRoom: RequireRoom;
  readonly isReadAction: IsReadAction;
}

export interface Runs {
  readonly store: RunStore;
  readonly inputs: InputCheck;
  readonly catalogue: RunCatalogue;
  readonly engine: RunEngine;
  readonly figures: RunFigures;
  /** Replaces the values of secrets of workflows in a text. */
  readonly maskText: SecretValues['maskText'];
  /** Has the runs suspended whose people are gone. Never rejects: where the store is away, the gateway tries again. */
  suspendGone(): Promise<void>;
  readonly quota: StoreQuota;
  /** Puts the limits of a new configuration in force. */
  follow(next: Config): void;
}

/** Evaluations at once. Each may take all of a processor for a second. */
const expressionsAtOnce = 2;
/** Milliseconds between two looks for runs that are older than `automations.retention`. */
const forgetInterval = 60_000;
/** Milliseconds. */
const messagesKept = 7 * 86_400_000;
/** Runs that are deleted in one transaction. */
const forgottenAtOnce = 100;

/** The store of runs, which approvals need as well. */
export function runStoreOf(
  started: AsyncDisposableStack,
  {
    database,
    clock,
    limitReached,
    requireRoom,
    persons,
  }: Pick<OpenRunsOptions, 'database' | 'clock' | 'limitReached' | 'requireRoom' | 'persons'>,
): RunStore {
  const personOf = (principal: string): string => persons.idsOf(principal)[0] ?? principal;
  return started.adopt(createRunStore({ database, clock, visible: visibleTo, limitReached, requireRoom, personOf }), (opened) =>
    opened.close(),
  );
}

/** The runs of automations. They stop before the parts that they use. */
export function openRuns(started: AsyncDisposableStack, options: OpenRunsOptions): Runs {
  const { config, clock, log, tracing, runStore: store, approvals, automations, forms, loader, schemas, people } = options;
  const { workflowStore, persons } = options;
  let { storePerPerson } = config.automations;
  const { database, limitReached } = options;
  const quota = createStoreQuota({
    limit: () => storePerPerson,
    usageOf: (id) => usageOf(database, persons.idsOf(id)),
    clock,
    limitReached,
  });
  const secrets = createSecretValues(() => options.live.secrets());
  const inputs = createInputCheck({ forms, schemas });
  const tools = toolsOf(started, store, { ...options, secrets });
  const watchers = [options.runWatcher, createRunLog(log), ...(tracing ? [createRunSpans(tracing)] : [])];
  const engine = started.adopt(createRunEngine({ store, tools, tasks: config.automations.tasks, log, watchers }), (running) =>
    running.stop(),
  );
  const gone = createGoneSweep(store, people, log);
  void gone.sweep();
  started.adopt(startUpkeep(gone, options), (timer) => timer.stop());
  const catalogue = createRunCatalogue({
    store,
    quota,
    clock,
    rights: options.rights,
    records: options.auditReader,
    async automation(id) {
      const found = await automations.find(id);
      const input = found?.automation.data?.input;
      return (
        found && { automation: found.automation, input: input && JSON.stringify(input), people: await peopleFor(found, forms) }
      );
    },
    workflow: (name) => loader.load(name),
    reached: (name) => reachedWorkflows(workflowStore, name),
    whyNotWriter: (principal, id) => options.writing.whyNot(principal, id),
    people,
    inputProblems: (given) => inputs.inputProblems(given),
    seesApproval: (principal, id) => approvals.catalogue.sees(principal, id),
  });
  const figures = createRunFigures({ counts: () => store.counts(), clock });
  measureRuns(options.metrics.registry, { figures, held: () => engine.held() });
  return {
    store,
    inputs,
    catalogue,
    engine,
    figures,
    maskText: (text) => secrets.maskText(text),
    suspendGone: () => gone.sweep(),
    quota,
    follow(next) {
      ({ storePerPerson } = next.automations);
    },
  };
}

/** Deletes what is old enough, and suspends runs whose people are gone where that failed before. */
function startUpkeep(
  gone: ReturnType<typeof createGoneSweep>,
  { config, runStore, approvals, clock, log }: Pick<OpenRunsOptions, 'config' | 'runStore' | 'approvals' | 'clock' | 'log'>,
): ReturnType<typeof every> {
  const { retention } = config.automations;
  return every(
    forgetInterval,
    async () => {
      await gone.again();
      const now = clock.now();
      const times = { before: now - retention, eventsBefore: approvals.upkeep.forgotten(), messagesBefore: now - messagesKept };
      while ((await runStore.forget({ ...times, limit: forgottenAtOnce })) > 0);
    },
    () => log.warn('old runs could not be deleted; the gateway tries again in a minute'),
  );
}

/** `again`: after a failure. */
function createGoneSweep(
  store: RunStore,
  people: RunPeople,
  log: Log,
): { readonly sweep: () => Promise<void>; readonly again: () => Promise<void> } {
  let hasFailed = false;
  const sweep = async (): Promise<void> => {
    try {
      await tellRunsOfGonePeople(store, people);
      hasFailed = false;
    } catch {
      hasFailed = true;
      log.warn('runs of people who are gone could not be suspended; the gateway tries again in a minute');
    }
  };
  return { sweep, again: async () => (hasFailed ? await sweep() : undefined) };
}

function toolsOf(
  started: AsyncDisposableStack,
  store: RunStore,
  options: OpenRunsOptions & { readonly secrets: SecretValues },
): RunTools {
  const { calls, audit, clock, log, metrics, tracing, version, approvals, loader, schemas, people, limitReached, secrets } =
    options;
  const expressions = started.adopt(createExpressionPool({ threads: expressionsAtOnce, limitReached }), (pool) => pool.close());
  const documents = started.adopt(createDocumentThreads(limitReached), (threads) => threads.close());
  return {
    clock,
    limitReached,
    runtime: { name: 'orchestration-gateway', version },
    expressions,
    secrets,
    approvals: approvals.tasks,
    calls: createCallTasks({
      calls,
      threads: documents,
      limitReached,
      approvals: approvals.tasks,
      people,
      isReadAction: options.isReadAction,
      audit,
      clock,
      log,
      tracing,
      secrets,
      observers: { metrics, log },
      callEnded: metrics.callEnded,
      failedInside: () => options.runWatcher.failedInside(undefined),
    }),
    async checkSchema(check) {
      const verdict = await schemas.problemsOf(check);
      return 'detail' in verdict ? [`the schema cannot be used: ${verdict.pointer} ${verdict.detail}`] : verdict;
    },
    loadWorkflow: (wanted) => whileAway(() => loader.load(wanted)),
    people: {
      involved: (run) => whileAway(() => people.involved(run)),
      whyGone: (principal) => people.whyGone(principal),
    },
    mayHaveCalled: (run) => whileAway(() => mayHaveCalled(run, { store, clock, records: options.auditReader })),
    openChildren: (run) => whileAway(() => store.children(run)),
    lastEvent: () => store.lastEvent(),
    messages: (start) => store.messages(start),
  };
}

/** Milliseconds until a store that was away is asked again. */
const awayWait = 1_000;

/** Tries again while the store is away. */
async function whileAway<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GatewayError) || (error.code !== 'store-unavailable' && error.code !== 'overloaded')) throw error;
      await sleep(awayWait);
    }
  }
}
