import { type FaultKind, faultPlan } from '../faults/fault-plan.ts';
import { type FaultProxy, faultProxy } from '../faults/fault-proxy.ts';
import { type Gateway, startGateway } from '../gateway/start-gateway.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { answersOf } from './history-answers.ts';
import { makeCall } from './history-caller.ts';
import type { CallRecord, History, Received } from './history-checker.ts';
import { type HistoryAdapter, type PlannedCall, plannedCall } from './history-plan.ts';
import { historyUpstreams, type SharedLog } from './history-upstream.ts';

interface CallHistoryOptions {
  readonly calls: number;
  readonly seed: number;
  /** Nodes of the orchestrator, each behind a fault proxy of its own. */
  readonly upstreams: number;
  /** Callers at a time; default 64. */
  readonly lanes?: number;
  /** Gets a line of progress after each thousand calls. */
  readonly report?: (line: string) => void;
}

interface CallHistory extends History {
  /** How many connections met each fault. */
  readonly met: Readonly<Partial<Record<FaultKind, number>>>;
  /** How often callers received each result; an uncertain result is counted separately as applied and as not applied. */
  readonly tally: Readonly<Record<string, number>>;
  /** Sockets that were open at the proxies when the gateway had ended. */
  readonly leftOpen: number;
}

/** Milliseconds without a reply after which a call counts as `silent`: ten times the longest time limit below. */
const patience = 20_000;
const limits = { dns: '1s', connect: '500ms', firstByte: '700ms', idle: '500ms', total: '2s' };

/**
 * Makes `calls` calls through a gateway to upstreams behind fault proxies. Records the result of each caller, and the requests
 * that the upstreams read. The same seed plans the same calls, and the same faults for each connection. The order in which calls
 * meet connections depends on the machine.
 */
export async function callHistory(owner: Owner, options: CallHistoryOptions): Promise<CallHistory> {
  const { calls, seed, lanes = 64, report } = options;
  const planned = Array.from({ length: calls }, (_, index) => plannedCall(seed, index));
  const log: SharedLog = { calls: new Map(planned.map((call) => [call.id, call])), applied: [] };
  const proxies = await proxiesOf(owner, options, log);
  const gateway = await startGateway(owner, configuration(proxies));
  const [first] = proxies;
  if (first === undefined) throw new Error('a history needs an upstream');
  const caller = {
    port: gateway.port,
    authorization: `Bearer ${await gateway.tokenFor('admin')}`,
    authority: first.authority,
    patience,
  };
  const records: CallRecord[] = [];
  const queue = planned.values();
  const lane = async (): Promise<void> => {
    for (const call of queue) {
      records.push(recordOf(call, await makeCall(call, caller)));
      if (records.length % 1000 === 0) report?.(`${records.length} calls made, ${log.applied.length} requests read`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await untilIdle(gateway);
  const history = { calls: records, applied: log.applied };
  await gateway.stop();
  await untilClosed(proxies);
  const leftOpen = proxies.reduce((sum, { open }) => sum + open, 0);
  return { ...history, met: sumOf(proxies.map(({ met }) => met)), tally: tallyOf(history), leftOpen };
}

async function proxiesOf(owner: Owner, { seed, upstreams }: CallHistoryOptions, log: SharedLog): Promise<readonly FaultProxy[]> {
  const sides = await historyUpstreams(owner, upstreams, log);
  return await Promise.all(
    sides.map(({ port }, proxy) => faultProxy(owner, { port, plan: (number) => faultPlan(seed, proxy, number) })),
  );
}

function configuration(proxies: readonly FaultProxy[]): Parameters<typeof startGateway>[1] {
  const [{ url: first, authority } = { url: '', authority: '' }] = proxies;
  const common = { auth: { type: 'none' }, timeouts: limits, responseLimit: '400KiB' };
  const urls = proxies.map(({ url }) => url);
  const adapters: Readonly<Record<HistoryAdapter, Readonly<Record<string, unknown>>>> = {
    one: { kind: 'nso', url: `${first}/one`, denyPaths: { actions: ['**/denied/**', 'denied/**'], queries: ['denied/**'] } },
    // One orchestrator with several nodes; the primary changes.
    many: { kind: 'nso', urls, concurrency: 32, breaker: { failures: 5, openFor: '200ms' } },
    // All nodes are equal: the first that answers is the primary.
    copies: { kind: 'rest', urls, breaker: { failures: 3, openFor: '100ms' } },
    narrow: { kind: 'restconf', url: first, concurrency: 1, queue: 2 },
    brittle: { kind: 'rest', url: first, breaker: { failures: 2, openFor: '300ms' } },
    'not TLS': { kind: 'restconf', url: first.replace('http:', 'https:') },
  };
  return {
    config: { outbound: { allow: [authority], timeouts: limits, responseLimit: '400KiB' }, server: { logLevel: 'error' } },
    adapters: Object.entries(adapters).map(([name, adapter]) => ({ name, ...common, ...adapter })),
  };
}

function recordOf(call: PlannedCall, received: Received): CallRecord {
  return {
    id: call.id,
    changes: call.method !== 'GET',
    // The gateway repeats a query twice at most, and never a restCall or a restRequest that was sent.
    attempts: call.route === 'restQuery' ? 3 : 1,
    answers: answersOf(call),
    received,
  };
}

/** Waits until the request for /metrics is the only one in flight. The calls of callers who left must end by their limits. */
async function untilIdle(gateway: Gateway): Promise<void> {
  const deadline = performance.now() + patience;
  for (;;) {
    const { text } = await gateway.send({ role: 'admin', target: '/metrics' });
    const inFlight = /^gateway_requests_in_flight (\d+)$/mu.exec(text)?.[1];
    if (inFlight === '1') return;
    if (performance.now() > deadline) throw new Error(`the gateway still has ${inFlight} requests in flight`);
    await lapse(50, 'calls in flight may end');
  }
}

/** Waits until the proxies have no open socket, or until every fault has ended. */
async function untilClosed(proxies: readonly FaultProxy[]): Promise<void> {
  const deadline = performance.now() + patience;
  while (proxies.some(({ open }) => open > 0) && performance.now() < deadline) {
    await lapse(20, 'connections may close');
  }
}

function sumOf(counts: readonly Readonly<Partial<Record<FaultKind, number>>>[]): Partial<Record<FaultKind, number>> {
  const sum: Partial<Record<FaultKind, number>> = {};
  for (const [kind, count] of counts.flatMap((count) => Object.entries(count) as [FaultKind, number][])) {
    sum[kind] = (sum[kind] ?? 0) + count;
  }
  return sum;
}

function tallyOf({ calls, applied }: History): Readonly<Record<string, number>> {
  const read = new Set(applied.map(({ id }) => id));
  const tally: Record<string, number> = {};
  for (const { id, changes, received } of calls) {
    const name = received.as === 'problem' ? received.code : received.as;
    const unsure = changes && (name === 'outcome-unknown' || name === 'left');
    const key = unsure ? `${name}, ${read.has(id) ? 'applied' : 'not applied'}` : name;
    tally[key] = (tally[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(tally).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
