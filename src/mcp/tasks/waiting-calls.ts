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
  /** Resolves once the store has it. The same call waits once. Also rejects with `quota-reached`. */
  wait(asked: {
    readonly tool: ChangeTool;
    readonly given: ToolArguments;
    readonly request: ToolRequest;
    readonly approval: string;
  }): Promise<AgentTask>;
  /** Undefined: this principal has no such task. */
  read(id: string, principal: ToolRequest['principal']): Promise<AgentTask | undefined>;
  /** Takes a call back. False: this principal has no such task. A call that has left goes on, and its record says so. */
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
  /** The same text for all principals of one person. */
  readonly personOf: (principal: string) => string;
  /** Rejects with `quota-reached` where the person has its share of the store already. */
  readonly requireShare: (principal: ToolRequest['principal']) => Promise<void>;
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
/** Of these places one person has at most so many. */
const ofOnePerson = 5;
const page = 500;

/** Nothing has left, and the gateway itself says that the call may be made later. */
const later: ReadonlySet<ErrorCode> = new Set([
  'audit-unavailable',
  'store-unavailable',
  'too-many-requests',
  'overloaded',
  // Of the approval: a newer gateway makes the call.
  'newer-version-needed',
]);

export function createWaitingCalls(needs: WaitingNeeds): WaitingCalls {
  const { store, clock, log } = needs;
  const underWay = new Map<string, UnderWay>();
  const stopping = new AbortController();
  const failed = (): void => log.warn('calls of agents that wait for people could not be looked after; the gateway tries again');
  const looking = every(
    interval,
    async () => {
      const now = clock.now();
      for (const id of await store.lease([...underWay.keys()], now + leaseTime)) underWay.get(id)?.call.takeBack();
      if (underWay.size >= atOnce || stopping.signal.aborted) return;
      const chosen = chooseByPerson(await store.ready(now, page), [...underWay.values()], needs);
      for (const taken of await store.take(chosen, { now, until: now + leaseTime })) {
        const call = new CallUnderWay(stopping.signal);
        const going = goOn(taken, needs, call)
          .catch(failed)
          .finally(() => underWay.delete(taken.id));
        underWay.set(taken.id, { call, going, person: needs.personOf(taken.principal.id) });
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
      await needs.requireShare(principal);
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
      if (await store.takeBack(id, clock.now())) await needs.endApproval(found.approval);
      else underWay.get(id)?.call.takeBack();
      return true;
    },
    async stop() {
      stopping.abort();
      await Promise.all([looking.stop(), sweeping.stop()]);
      await Promise.all([...underWay.values()].map(({ going }) => going));
    },
  };
}

interface UnderWay {
  readonly call: CallUnderWay;
  readonly going: Promise<void>;
  readonly person: string;
}

/** The ids that get a free place, in their order. */
function chooseByPerson(
  ready: readonly Pick<WaitingCall, 'id' | 'principal'>[],
  underWay: readonly UnderWay[],
  { personOf }: Pick<WaitingNeeds, 'personOf'>,
): readonly string[] {
  const places = new Map<string, number>();
  const takePlace = (person: string): void => void places.set(person, (places.get(person) ?? 0) + 1);
  for (const { person } of underWay) takePlace(person);
  const chosen: string[] = [];
  for (const { id, principal } of ready) {
    if (underWay.length + chosen.length >= atOnce) break;
    const person = personOf(principal.id);
    if ((places.get(person) ?? 0) >= ofOnePerson) continue;
    takePlace(person);
    chosen.push(id);
  }
  return chosen;
}

/** A call on its way through the gateway. */
class CallUnderWay {
  readonly #ending = new AbortController();
  mayHaveLeft = (): boolean => false;
  #isTakenBack = false;

  constructor(stopping: AbortSignal) {
    stopping.addEventListener('abort', () => this.#ending.abort(), { once: true, signal: this.#ending.signal });
    if (stopping.aborted) this.#ending.abort();
  }

  watch(mayHaveLeft: () => boolean): void {
    this.mayHaveLeft = mayHaveLeft;
  }

  whenStopping(callback: () => void): () => void {
    const { signal } = this.#ending;
    if (signal.aborted) callback();
    else signal.addEventListener('abort', callback, { once: true });
    return () => signal.removeEventListener('abort', callback);
  }

  /** Ends the call where it waits for its turn. One that may have left goes on. */
  takeBack(): void {
    if (this.#ending.signal.aborted) return;
    this.#isTakenBack = true;
    if (!this.mayHaveLeft()) this.#ending.abort();
  }

  /** For the result of a call that its caller took back too late. */
  get notes(): readonly string[] {
    return this.#isTakenBack ? ['The call had left before you took it back.'] : [];
  }

  /** Its caller took it back, and nothing has left. */
  get isTakenBack(): boolean {
    return this.#isTakenBack && !this.mayHaveLeft();
  }

  /** It was ended before its reply. */
  get isBrokenOff(): boolean {
    return this.#ending.signal.aborted;
  }
}

function taskOf(
  { id, status, hasBegun, approval, result, createdAt, changedAt }: WaitingCall,
  { linkOf }: Pick<AgentNeeds, 'linkOf'>,
): AgentTask {
  const messages = {
    working: hasBegun ? 'The call is on its way.' : `The call waits for people, who decide at ${linkOf(approval)}`,
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

/** Logout, blocking and removal end what waits. The expiry of a token does not. A call that has begun says itself what became of it. */
async function sweep(needs: WaitingNeeds): Promise<void> {
  const { store, clock } = needs;
  await store.forget(clock.now() - keptFor);
  for (let after = '', calls: readonly WaitingCaller[] = []; ; after = calls.at(-1)?.id ?? '') {
    calls = await store.waiting(after, page);
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
async function goOn(call: WaitingCall, needs: WaitingNeeds, underWay: CallUnderWay): Promise<void> {
  try {
    const { content, ...result } = await madeCall(call, needs, underWay);
    const notes = underWay.notes.map((text) => ({ type: 'text', text }) as const);
    await needs.store.complete(call.id, { ...result, content: [...content, ...notes] }, needs.clock.now());
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (underWay.isTakenBack) await endTakenBack(call, needs);
    else if (mayComeAgain(error, underWay)) await keep(call.id, needs, hasRecord(error, underWay));
    else await endOrAsk(call.id, error, needs, underWay);
  }
}

function mayComeAgain({ code }: GatewayError, { isBrokenOff }: CallUnderWay): boolean {
  return isBrokenOff || code === 'idempotency-key-in-use' || later.has(code);
}

/** The record of a call that may have left has its outcome, and the next attempt reads it there. */
function hasRecord({ code }: GatewayError, underWay: CallUnderWay): boolean {
  return code === 'idempotency-key-in-use' || underWay.mayHaveLeft();
}

async function keep(id: string, { store, clock }: WaitingNeeds, mayHaveLeft: boolean): Promise<void> {
  const soon = clock.now() + laterTime;
  if (mayHaveLeft) await store.lease([id], soon);
  else await store.putOff(id, soon);
}

async function endOrAsk(id: string, error: GatewayError, { store, clock }: WaitingNeeds, { notes }: CallUnderWay): Promise<void> {
  if (error.code === 'approval-required' && error.approval !== undefined) await store.waitFor(id, error.approval.id, clock.now());
  else await store.complete(id, errorResult(error, ...notes), clock.now());
}

async function endTakenBack({ id, approval }: WaitingCall, { store, clock, endApproval }: WaitingNeeds): Promise<void> {
  if (await store.cancelled(id, clock.now())) await endApproval(approval);
}

async function madeCall(call: WaitingCall, needs: WaitingNeeds, underWay: CallUnderWay): Promise<ToolResult> {
  const { store } = needs;
  const ended = await whyEnded(call, needs);
  if (ended !== undefined) throw ended;
  const { id, approval, client, given, tool } = call;
  // Its gateway died after the call had begun, and its caller has taken it back.
  if (given === undefined) throw new GatewayError('outcome-unknown', 'The gateway that made the call ended before its reply.');
  const principal = await needs.principalNow(call.principal.id);
  if (principal === undefined)
    throw new GatewayError('forbidden', 'The caller was removed, or was not seen for too long, so the call was not made.');
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
    whenStopping: (callback) => underWay.whenStopping(callback),
    stored: () => store.begin(id),
    watch: (mayHaveLeft) => underWay.watch(mayHaveLeft),
  };
  const prepared = await prepareChange(tool as ChangeTool, given, entering, needs);
  return await makeChange({ prepared, approval: { id: approval }, key: `task-${id}` }, entering, needs);
}
