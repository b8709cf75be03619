import { setTimeout as sleep } from 'node:timers/promises';
import type { Persons } from '#access/persons.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { AuditReader } from '#audit/audit-reader.ts';
import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { visibleTo } from '#automations/store/automation-list-store.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { LimitReached } from '#base/limits.ts';
import type { Log } from '#base/log.ts';
import type { StoreSteadiness } from '#base/store-steadiness.ts';
import { every } from '#base/timing/every.ts';
import { createKeptFigures, type KeptFigures } from '#base/timing/kept-figures.ts';
import type { Tracing } from '#base/tracing.ts';
import type { CallPath } from '#calls/call-path.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import type { RequireRoom } from '#database/sqlite/reserve.ts';
import type { FormCatalogue } from '#forms/form-catalogue.ts';
import { createInputCheck, type InputCheck } from '#forms/input-check.ts';
import { usageOf } from '#runs/catalogue/person-usage-store.ts';
import { mayHaveCalled } from '#runs/catalogue/run-calls.ts';
import { createRunCatalogue, type RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import { createStoreQuota, type StoreQuota } from '#runs/catalogue/store-quota.ts';
import { createRunEngine, type RunEngine } from '#runs/engine/run-engine.ts';
import type { RunTools } from '#runs/engine/run-tools.ts';
import { createRunLog, createRunSpans, type RunWatcher } from '#runs/engine/run-watcher.ts';
import type { RunCounts } from '#runs/journal/run-queries.ts';
import { createRunStore, type RunStore } from '#runs/journal/run-store.ts';
import { type RunPeople, tellRunsOfGonePeople } from '#runs/people/run-people.ts';
import type { SecretValues } from '#runs/secrets/secret-values.ts';
import { passwordsOf } from '#runs/task-data/data-mask.ts';
import type { IsReadAction } from '#runs/tasks/arguments.ts';
import { createCallTasks } from '#runs/tasks/call-tasks.ts';
import { createDocumentThreads } from '#runs/tasks/document-threads.ts';
import { createRollups } from '#statistics/rollups.ts';
import type { Metrics } from '#telemetry/metrics.ts';
import { measureRuns } from '#telemetry/run-metrics.ts';
import type { WorkflowLoader } from '#workflows/catalogue/workflow-loader.ts';
import { reachedWorkflows } from '#workflows/catalogue/workflow-pins.ts';
import type { WorkflowStore } from '#workflows/catalogue/workflow-store.ts';
import type { WritingRight } from '#workflows/catalogue/writing-right.ts';
import { createExpressionPool } from '#workflows/jq/expression-pool.ts';
import type { SchemaThreads } from '#workflows/schemas/schema-threads.ts';
import type { LiveParts } from './live-parts.ts';
import type { Approvals } from './open-approvals.ts';
import { mayMatch } from './people-of-runs.ts';
import { findingAutomations } from './start-facts.ts';
import type { StoreLosses } from './store/store-losses.ts';

interface OpenRunsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly persons: Persons;
  readonly audit: AuditLog;
  readonly auditReader: AuditReader;
  readonly steady: Pick<StoreSteadiness, 'isSteady'>;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly log: Log;
  readonly losses: Pick<StoreLosses, 'connect' | 'guarded'>;
  readonly live: Pick<LiveParts, 'approvalRules'>;
  readonly secrets: SecretValues;
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
  /** The same, by other rights. */
  readonly catalogueBy: (rights: Rights) => RunCatalogue;
  readonly engine: RunEngine;
  readonly figures: KeptFigures<RunCounts>;
  /** Replaces the values of secrets of workflows in a text. */
  readonly maskText: SecretValues['maskText'];
  /** The same in a JSON text. */
  readonly mask: SecretValues['mask'];
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
/** Transactions of one round that pack old rows of statistics. */
const packedAtOnce = 200;
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
    audit: { join },
  }: Pick<OpenRunsOptions, 'database' | 'clock' | 'limitReached' | 'requireRoom' | 'persons' | 'audit'>,
): RunStore {
  const personOf = (principal: string): string => persons.idsOf(principal)[0] ?? principal;
  return started.adopt(
    createRunStore({ database, clock, visible: visibleTo, limitReached, requireRoom, personOf, join }),
    (opened) => opened.close(),
  );
}

/** The runs of automations. They stop before the parts that they use. */
export function openRuns(started: AsyncDisposableStack, options: OpenRunsOptions): Runs {
  const { config, clock, log, tracing, runStore: store, approvals, automations, forms, loader, schemas, people } = options;
  const { workflowStore, persons, database, limitReached } = options;
  let { storePerPerson, taskData } = config.automations;
  const quota = createStoreQuota({
    limit: () => storePerPerson,
    usageOf: (id) => usageOf(database, persons.idsOf(id)),
    dropTaskData: (id, bytes) => store.dropTaskData(persons.idsOf(id), bytes),
    clock,
    limitReached,
  });
  const inputs = createInputCheck({ forms, schemas });
  const tools = toolsOf(started, store, { ...options, keepsTaskData: () => taskData });
  const watchers = [options.runWatcher, createRunLog(log), ...(tracing ? [createRunSpans(tracing)] : [])];
  const guarded = options.losses.guarded(store);
  const { tasks } = config.automations;
  const isSteady = (): boolean => options.steady.isSteady;
  const engine = started.adopt(createRunEngine({ store: guarded, tools, tasks, log, watchers, isSteady }), (running) =>
    running.stop(),
  );
  const gone = createGoneSweep(store, people, log);
  void gone.sweep();
  started.adopt(startUpkeep(gone, options), (timer) => timer.stop());
  const needs = {
    store,
    quota,
    clock,
    retention: config.automations.retention,
    records: options.auditReader,
    intendDecision: (facts) => options.audit.intend(facts),
    ...findingAutomations(automations, forms),
    workflow: (name) => loader.load(name),
    reached: (name) => reachedWorkflows(workflowStore, name),
    whyNotWriter: (principal, id) => options.writing.whyNot(principal, id),
    people,
    inputProblems: (given) => inputs.inputProblems(given),
    expressions: tools.expressions,
    secrets: options.secrets,
    isReadAction: options.isReadAction,
    seesApproval: (principal, id) => approvals.catalogue.sees(principal, id),
  } satisfies Omit<Parameters<typeof createRunCatalogue>[0], 'rights'>;
  const catalogueBy = (rights: Rights): RunCatalogue => createRunCatalogue({ ...needs, rights });
  const figures = createKeptFigures({ ask: () => store.counts(), clock });
  measureRuns(options.metrics.registry, { figures, held: () => engine.held() });
  return {
    store,
    inputs,
    catalogue: catalogueBy(options.rights),
    catalogueBy,
    engine,
    figures,
    maskText: (text) => options.secrets.maskText(text),
    mask: (text) => options.secrets.mask(text),
    suspendGone: () => gone.sweep(),
    quota,
    follow(next) {
      ({ storePerPerson, taskData } = next.automations);
    },
  };
}

/** Deletes what is old enough, and suspends runs whose people are gone where that failed before. */
function startUpkeep(
  gone: ReturnType<typeof createGoneSweep>,
  { config, runStore, database, automations, approvals, clock, log }: OpenRunsOptions,
): ReturnType<typeof every> {
  const { retention } = config.automations;
  const rollups = createRollups(database);
  return every(
    forgetInterval,
    async () => {
      await gone.again();
      const now = clock.now();
      const times = { before: now - retention, eventsBefore: approvals.upkeep.forgotten(), messagesBefore: now - messagesKept };
      while ((await runStore.forget({ ...times, limit: forgottenAtOnce })) > 0);
      await rollups.forget('run', now - retention);
      await rollups.forget('call', now - config.audit.retention);
      await rollups.pack({ now, limit: packedAtOnce });
      await automations.forgetDeleted(now - config.audit.retention);
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
  options: OpenRunsOptions & { readonly keepsTaskData: () => boolean },
): Omit<RunTools, 'placesOfPerson'> {
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
    batch: (call) => whileAway(() => store.batch(call)),
    items: (call, page) => whileAway(() => store.items(call, page)),
    asksOnce: (workflow) => whileAway(() => asksOnce(workflow, options)),
    repeatedItems: (batch) => whileAway(() => store.repeatedItems(batch)),
    openItems: (call) => whileAway(() => store.openItems(call)),
    openBatches: (run) => whileAway(() => store.openBatches(run)),
    taskData: {
      keeps: options.keepsTaskData,
      passwordsOf: (run) => whileAway(() => passwordsOf(run, (id) => store.read(id))),
    },
    lastEvent: () => store.lastEvent(),
    messages: (start) => store.messages(start),
  };
}

/** Whether a rule for batches may match a call of the workflow, or of one that it runs. What is not known of a call matches. */
async function asksOnce(
  name: { readonly id: string; readonly version: string },
  { live, workflowStore, clock }: Pick<OpenRunsOptions, 'clock' | 'live' | 'workflowStore'>,
): Promise<boolean> {
  const rules = live
    .approvalRules()
    .filter(({ covers, when: { until = Infinity } }) => covers === 'batch' && until > clock.now());
  if (rules.length === 0) return false;
  const functions = ((await reachedWorkflows(workflowStore, name)) ?? []).flatMap((reached) => reached.functions);
  return rules.some((rule) => functions.some((one) => mayMatch(rule, one)));
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
