import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { NamedPrincipal } from '#access/people.ts';
import { isRole, type Principal, type Role } from '#access/principal.ts';
import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import { type AuditRecord, createAuditReader } from '#audit/audit-reader.ts';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import { continueTrace } from '#base/trace-context.ts';
import type { Tracing } from '#base/tracing.ts';
import { createCallPath } from '#calls/call-path.ts';
import { loadConfig } from '#config/load-config.ts';
import type { Database } from '#database/database.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';
import { createBodyMask } from '#relay/body-mask.ts';
import { newRun } from '#runs/journal/run-records.test-support.ts';
import type { SealedSecrets } from '#runs/secrets/placeholders.ts';
import type { RunSecrets } from '#runs/secrets/run-secrets.ts';
import { createSecretValues } from '#runs/secrets/secret-values.ts';
import { type CallTaskEnd, type CallTasks, createCallTasks, type RunCall } from '#runs/tasks/call-tasks.ts';
import { createDocumentThreads } from '#runs/tasks/document-threads.ts';
import { createLiveParts } from '#wiring/live-parts.ts';
import { sqliteStore } from '../stores/stores.ts';
import { temporaryFile } from '../temporary-file.ts';
import { until } from '../until.ts';
import { type Upstream, upstream } from '../upstreams/upstream.ts';
import { noApprovalGate, noApprovalTasks } from './no-approvals.ts';
import { noIdentities } from './no-identities.ts';
import { sealedSecret } from './sealed-secret.ts';

/** A trace that all calls of the harness belong to. */
export const runTrace = continueTrace(undefined);
const starter: Principal = { id: 'ann', username: 'ann', roles: ['readonly'], groups: [] };

function mapped(secrets: Readonly<Record<string, string>>): SealedSecrets {
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, sealedSecret(value)]));
}

/** Somebody with these roles who answers for the calls. The name holds them. */
function answering(roles: readonly Role[]): NamedPrincipal {
  return { id: 'author', username: roles.join(' ') };
}

function withRoles({ id, username }: NamedPrincipal): Principal {
  return { id, username, roles: username.split(' ').filter(isRole), groups: [] };
}

interface GatewayNeeds {
  readonly far: Upstream;
  readonly database: Database;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Secrets with their rules. Default: those of `secrets`, which no call can carry. */
  readonly sealed?: SealedSecrets;
  /** Milliseconds that are added to the time. */
  readonly later?: number;
  /** Changes the audit log, to let it fail. */
  readonly audit?: (log: AuditLog) => AuditLog;
  readonly configuration?: string;
  readonly tracing?: Tracing;
}

type Task = Partial<Omit<RunCall, 'function' | 'args' | 'secrets'>> & {
  readonly answerable?: readonly Role[];
  readonly signal?: AbortSignal;
};

/** The calls of tasks of one gateway, over real sockets and a real audit log. */
export interface TaskGateway {
  readonly tasks: CallTasks;
  /** `args`: JSON text, or a value. */
  readonly perform: (name: RunCall['function'], args: unknown, task?: Task) => Promise<CallTaskEnd>;
  readonly fetchDocument: (endpoint: object) => ReturnType<CallTasks['fetch']>;
  /** What `$secrets.NAME` is in the run. */
  readonly placeholder: (name: string) => string;
  readonly records: () => Promise<readonly AuditRecord[]>;
}

/** An upstream, a store, and a gateway whose adapter `NSO` is that upstream. */
export async function taskGateway(
  t: TestContext,
  needs: Partial<GatewayNeeds> = {},
): Promise<TaskGateway & { readonly far: Upstream; readonly database: Database }> {
  const far = needs.far ?? (await upstream(t));
  const database = needs.database ?? (await sqliteStore.open(t));
  return { far, database, ...(await openGateway(t, { ...needs, far, database })) };
}

async function openGateway(t: TestContext, needs: GatewayNeeds): Promise<TaskGateway> {
  const { far, database, secrets = {}, later = 0, audit: changed = (log) => log, configuration = '' } = needs;
  const clock = { ...systemClock, now: () => systemClock.now() + later };
  const file = temporaryFile(
    t,
    'gateway.yaml',
    `access: { users: [] }
outbound: { allow: ["${far.authority}"] }
adapters:
  - { name: NSO, kind: nso, url: "${far.url}", auth: { type: none }, health: off, denyPaths: { actions: ["**/sync-to"], queries: [] } }
${configuration}`,
  );
  const { config } = await loadConfig({ file, cwd: '/', env: {} });
  const resolve = createResolver({ concurrency: 2 });
  const pooled = <S>(_labels: object, sender: S): S => sender;
  const live = createLiveParts({
    config,
    adapterNeeds: { resolve, clock, userAgent: 'test', pooled, log: noLog },
    outboundNeeds: { resolve, ownListeners: () => [], pooled },
    log: noLog,
  });
  t.after(() => live.close());
  const maxCallDuration = (): number => 300_000;
  const log = await createAuditLog({ database, clock, log: noLog, version: '1', config: config.audit, maxCallDuration });
  t.after(() => log.close());
  const reader = createAuditReader({ database, clock, maxCallDuration });
  const threads = createDocumentThreads(() => {});
  t.after(() => threads.close());
  const values = createSecretValues(() => needs.sealed ?? mapped(secrets));
  const names = Object.keys({ ...secrets, ...needs.sealed });
  const ofRun = values.ofRun({ seed: 'seed', workflow: 'lab.one', names });
  const tasks = createCallTasks({
    threads,
    calls: createCallPath({
      ...live,
      gate: noApprovalGate,
      identities: noIdentities,
      maskBody: createBodyMask([]),
      userAgent: 'test',
    }),
    audit: changed(log),
    clock,
    observers: { metrics: { attemptEnded() {} }, log: noLog },
    log: noLog,
    tracing: needs.tracing,
    secrets: values,
    approvals: noApprovalTasks,
    isReadAction: (name, path) => live.adapters().isReadAction(name, path),
    people: {
      standing: async ({ authors = [] }) => ({
        answerable: authors.map(withRoles),
        writers: authors.map(withRoles),
        involved: [],
      }),
    },
  });
  return {
    tasks,
    perform: async (
      name,
      args,
      { answerable = ['admin'] as readonly Role[], signal = new AbortController().signal, ...task } = {},
    ) => {
      const run = { ...newRun({ id: 'run-1', principal: starter }), authors: [answering(answerable)] };
      const text = typeof args === 'string' ? args : JSON.stringify(args);
      const place = { activity: 3, attempt: 1, reference: '/do/0/x', secrets: ofRun };
      const end = await tasks.perform({ run, trace: runTrace, ...place, function: name, args: text, ...task }, signal);
      if (end === 'waiting') throw new Error('The call waits for an approval.');
      if ('held' in end) throw new Error(`The call is held: ${end.held.detail}`);
      return end;
    },
    fetchDocument: (endpoint) => {
      const run = { ...newRun({ id: 'run-1', principal: starter }), authors: [answering(['engineering'])] };
      return tasks.fetch(
        { run, trace: runTrace, secrets: ofRun, endpoint: JSON.stringify(endpoint) },
        new AbortController().signal,
      );
    },
    placeholder: (name) => placeholderIn(ofRun.variable([]), name),
    async records() {
      await until('the audit log is written', () => log.counts().waiting === 0);
      return (await reader.list({ limit: 100 })).list;
    },
  };
}

function placeholderIn(variable: ReturnType<RunSecrets['variable']>, name: string): string {
  assert.ok('text' in variable);
  return (JSON.parse(variable.text) as Readonly<Record<string, string>>)[name] ?? '';
}

/**
 * An audit log whose process dies after a step of a call. What it would write after that never reaches the store, and the call goes on only at
 * the end of the test.
 */
export function dyingAfter(t: TestContext, step: 'intent' | 'outcome'): (log: AuditLog) => AuditLog {
  const { promise, resolve } = Promise.withResolvers<void>();
  t.after(() => resolve());
  const never = (): Promise<void> => promise;
  return (log) => ({
    ...log,
    async intendOnce(facts, request, permit) {
      const intended = await log.intendOnce(facts, request, permit);
      if ('earlierReply' in intended) return intended;
      if (step === 'intent') return { ...intended, outcome: never };
      return {
        ...intended,
        async outcome(more, key) {
          await intended.outcome(more, key);
          await never();
        },
      };
    },
  });
}

/** The output of a call as a value. Fails where it has none. */
export function outputOf({ result }: CallTaskEnd): unknown {
  assert.equal(result.kind, 'ok', JSON.stringify(result));
  return result.kind === 'ok' ? JSON.parse(result.output) : undefined;
}

/** Name of the type, status and detail of the error of a call. Fails where it has none. */
export function errorOf({ result }: CallTaskEnd): readonly unknown[] {
  assert.ok(result.kind === 'error', JSON.stringify(result));
  const { type, status, detail } = result.error;
  return [type.replace(/^.*\//u, ''), status, detail];
}
