import { randomUUID } from 'node:crypto';
import type { PrincipalNow } from '#access/people.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { every } from '#base/timing/every.ts';
import { continueTrace } from '#base/trace-context.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import type { ToolRequest } from '../agent-request.ts';
import type { Entering } from '../call-entrance.ts';
import { type ChangeTool, makeChange, prepareChange } from '../make-change.ts';
import type { ToolArguments } from '../tool-arguments.ts';
import { errorResult, type ToolResult } from '../tool-result.ts';
import { type AgentTask, pollInterval } from './task-created.ts';
import type { WaitingCall, WaitingCaller, WaitingCallStore } from './waiting-call-store.ts';

/** Calls of agents that wait for people. When people have granted one, it is judged again and leaves, on any gateway, once. */
export interface WaitingCalls {
  /** Resolves once the store has it. The same call waits once. */
  wait(asked: {
    readonly tool: ChangeTool;
    readonly given: ToolArguments;
    readonly request: ToolRequest;
    readonly approval: string;
  }): Promise<AgentTask>;
  /** Undefined: this principal has no such task. */
  read(id: string, principal: ToolRequest['principal']): Promise<AgentTask | undefined>;
  /** False: this principal has no such task. A call that has left goes on. */
  cancel(id: string, principal: ToolRequest['principal']): Promise<boolean>;
  /** Resolves once no call is under way. */
  stop(): Promise<void>;
}

export interface WaitingNeeds extends AgentNeeds {
  readonly store: WaitingCallStore;
  readonly principalNow: PrincipalNow;
  /** Removed or blocked. */
  readonly isGone: (id: string) => boolean;
  /** The token was ended by a logout. */
  readonly isRevoked: (token: string) => Promise<boolean>;
  /** Ends an approval that nothing waits for any more. */
  readonly endApproval: (id: string) => Promise<void>;
}

/** Milliseconds between two looks for decided calls, and between two for callers who are gone. */
const interval = 1_000;
const sweepInterval = 5_000;
/** Milliseconds after which another gateway takes a task whose gateway died. */
const leaseTime = 30_000;
/** Milliseconds until a call that cannot be made now is tried again. */
const laterTime = 2_000;
/** Milliseconds for which an ended task is kept. */
const keptFor = 86_400_000;
const atOnce = 10;
const page = 500;

/** Nothing has left, and the gateway itself says that the call may be made later. */
const later: ReadonlySet<ErrorCode> = new Set([
  'audit-unavailable',
  'store-unavailable',
  'too-many-requests',
  'idempotency-key-in-use',
  'overloaded',
  // Of the approval: a newer gateway makes the call.
  'newer-version-needed',
]);

export function createWaitingCalls(needs: WaitingNeeds): WaitingCalls {
  const { store, clock, log } = needs;
  const underWay = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const failed = (): void => log.warn('calls of agents that wait for people could not be looked after; the gateway tries again');
  const looking = every(
    interval,
    async () => {
      const now = clock.now();
      await store.lease([...underWay.keys()], now + leaseTime);
      const limit = atOnce - underWay.size;
      if (limit <= 0 || stopping.signal.aborted) return;
      for (const call of await store.take({ now, until: now + leaseTime, limit })) {
        const going = goOn(call, needs, stopping.signal)
          .catch(failed)
          .finally(() => underWay.delete(call.id));
        underWay.set(call.id, going);
      }
    },
    failed,
  );
  const sweeping = every(sweepInterval, () => sweep(needs), failed);
  const own = async (id: string, { id: principal }: ToolRequest['principal']): Promise<WaitingCall | undefined> => {
    const found = await store.find(id);
    return found?.principal.id === principal ? found : undefined;
  };
  return {
    async wait({ tool, given, request, approval }) {
      const { principal, client } = request;
      const createdAt = clock.now();
      await store.create({ id: approval, principal, token: await request.tokenId(), tool, given, client, approval, createdAt });
      const found = await own(approval, principal);
      if (found === undefined) throw new Error('the store lost a task');
      return taskOf(found, needs);
    },
    async read(id, principal) {
      const found = await own(id, principal);
      return found && taskOf(found, needs);
    },
    async cancel(id, principal) {
      const found = await own(id, principal);
      if (found === undefined) return false;
      refuseNewerRow('The task', found.lowest);
      if (await store.cancel(id, clock.now())) await needs.endApproval(found.approval);
      return true;
    },
    async stop() {
      stopping.abort();
      await Promise.all([looking.stop(), sweeping.stop()]);
      await Promise.all(underWay.values());
    },
  };
}

function taskOf(
  { id, status, approval, result, createdAt, changedAt }: WaitingCall,
  { linkOf }: Pick<AgentNeeds, 'linkOf'>,
): AgentTask {
  const messages = {
    working: `The call waits for people, who decide at ${linkOf(approval)}`,
    completed: result?.isError === true ? 'The call was not made, or failed.' : 'The call was made.',
    cancelled: 'The call was cancelled, and not made.',
  };
  return {
    taskId: id,
    status,
    statusMessage: messages[status],
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(changedAt).toISOString(),
    ttlMs: status === 'working' ? null : changedAt - createdAt + keptFor,
    pollIntervalMs: pollInterval,
    ...(status === 'completed' && result !== undefined && { result }),
  };
}

/** Logout, blocking and removal end what waits. The expiry of a token does not. */
async function sweep(needs: WaitingNeeds): Promise<void> {
  const { store, clock } = needs;
  await store.forget(clock.now() - keptFor);
  for (let after = '', calls: readonly WaitingCaller[] = []; ; after = calls.at(-1)?.id ?? '') {
    calls = await store.working(after, page);
    for (const call of calls) {
      const ended = await whyEnded(call, needs);
      if (ended !== undefined) await endOf(call, ended, needs);
    }
    if (calls.length < page) return;
  }
}

async function endOf(
  { id, approval }: WaitingCaller,
  failure: GatewayError,
  { store, clock, endApproval }: WaitingNeeds,
): Promise<void> {
  if (await store.complete(id, errorResult(failure), clock.now())) await endApproval(approval);
}

async function whyEnded(
  { principal, token }: WaitingCaller,
  { isGone, isRevoked }: WaitingNeeds,
): Promise<GatewayError | undefined> {
  if (isGone(principal.id)) return new GatewayError('forbidden', 'The caller was removed or blocked, so the call was not made.');
  if (token === undefined || !(await isRevoked(token))) return undefined;
  return new GatewayError('forbidden', 'The caller logged out, so the call was not made.');
}

/** People have decided, or the time is over. The call path judges the call again. Rejects only where the store does. */
async function goOn(call: WaitingCall, needs: WaitingNeeds, signal: AbortSignal): Promise<void> {
  const { store, clock } = needs;
  try {
    await store.complete(call.id, await madeCall(call, needs, signal), clock.now());
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (signal.aborted || later.has(error.code)) await store.lease([call.id], clock.now() + laterTime);
    else if (error.code === 'approval-required' && error.approval !== undefined)
      await store.waitFor(call.id, error.approval.id, clock.now());
    else await store.complete(call.id, errorResult(error), clock.now());
  }
}

async function madeCall(call: WaitingCall, needs: WaitingNeeds, signal: AbortSignal): Promise<ToolResult> {
  const ended = await whyEnded(call, needs);
  if (ended !== undefined) throw ended;
  const { id, approval, client, given, tool } = call;
  const principal = await needs.principalNow(call.principal.id);
  if (principal === undefined)
    throw new GatewayError('forbidden', 'The caller was removed, or was not seen for too long, so the call was not made.');
  if (given === undefined) throw new Error('a task without arguments works');
  const entering: Entering = {
    principal,
    client,
    requestId: randomUUID(),
    trace: continueTrace(undefined),
    span: undefined,
    sourceAddress: undefined,
    isRemembered: true,
    // A call that has left goes on while the gateway stops.
    signal: new AbortController().signal,
    whenStopping: (callback) => {
      signal.addEventListener('abort', callback, { once: true });
      return () => signal.removeEventListener('abort', callback);
    },
  };
  const prepared = await prepareChange(tool as ChangeTool, given, entering, needs);
  return await makeChange({ prepared, approval: { id: approval }, key: `task-${id}` }, entering, needs);
}
