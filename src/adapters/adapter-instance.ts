import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { createUsage } from '#base/usage.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { retryAfter } from '#outbound/retry-after.ts';
import { mayBeRepeated, neverLeft } from '#outbound/sender.ts';
import type { AdapterKind } from './adapter-kind.ts';
import type { AdapterNode, NodeCall } from './adapter-node.ts';
import type { AdapterStanding, AdapterState } from './adapter-standing.ts';
import { startHealthChecks } from './health-checks.ts';
import { type AttemptResult, isNodeFault, refusesChanges } from './node-failure.ts';
import { NodeRoute, type Target } from './node-route.ts';
import type { NodeState } from './node-standing.ts';
import { matchesPaths, type PathRights } from './path-rights.ts';

/** The configuration of one orchestrator, without that of its nodes. Durations are in milliseconds. */
export interface AdapterInstanceOptions extends PathRights {
  readonly name: string;
  readonly timeouts: { readonly total: number };
  readonly health: { readonly interval: number } | 'off';
  readonly concurrency: number;
  readonly queue: number;
  /** Globs of the paths of POST actions that change nothing. Default: those of the kind. */
  readonly readActions?: readonly string[];
  readonly tls?: { readonly verify: boolean };
  readonly proxy?: object;
}

export interface AdapterCall extends NodeCall {
  /** `query`: up to two retries. `action`: one retry, and only if no byte of the first attempt left the gateway. */
  readonly retry: 'query' | 'action';
}

/** One named orchestrator: its nodes, and the choice between them. */
export interface AdapterInstance {
  readonly name: string;
  readonly kind: AdapterKind;
  readonly settings: AdapterInstanceOptions;
  /** Milliseconds. A caller may ask for less time, but not for more. */
  readonly totalLimit: number;
  /** In the order of the configuration; at least one. */
  readonly nodes: readonly AdapterNode[];
  standing(): AdapterStanding;
  /** Whether a POST to the path changes nothing, in every reading of the path. */
  isReadAction(path: string): boolean;
  /** The media type of a request body if the caller names none; `path` is `params.path`. */
  defaultContentType(path: string): string;
  /**
   * Takes a slot, which is held until the scope ends, and sends the call, repeatedly if the retry rule allows it. Rejects as
   * Sender.send does, or with `adapter-busy` or `adapter-unavailable`.
   */
  perform(call: AdapterCall, scope: CallScope): Promise<FarSideReply>;
  /**
   * Registers a call before it is put on record and performed: the instance remains open for it. Call the result once when the
   * call has ended.
   */
  hold(): () => void;
  /** Resolves when all registered calls have ended, including replies that are streamed, and the connections are closed. */
  close(): Promise<void>;
}

const retryLimit = { query: 2, action: 1 } as const;
/** Milliseconds. The delay doubles with each attempt, and has full jitter. */
const backoffBase = 100;

export function createAdapterInstance(options: {
  readonly kind: AdapterKind;
  readonly instance: AdapterInstanceOptions;
  readonly nodes: readonly AdapterNode[];
  readonly clock: Clock;
}): AdapterInstance {
  const { kind, instance, nodes, clock } = options;
  const health = startHealthChecks({ nodes, health: instance.health });
  const usage = createUsage();
  // The base addresses of all nodes have the same path.
  const basePath = nodes[0] === undefined ? '' : new URL(nodes[0].url).pathname;

  const attempted = async (call: AdapterCall, route: NodeRoute, target: Target): Promise<AttemptResult> => {
    const first = route.begin(target);
    let node = first instanceof Promise ? await first : first;
    let sent: AttemptResult | undefined;
    for (let count = 0; ; count += 1) {
      const attempt = await route.attempt(node, call);
      // The earlier attempt left, and only its result says what became of the call.
      if (sent !== undefined && isRefusal(attempt)) return sent;
      route.keep(node, attempt);
      if ('reply' in attempt && nodes.length > 1 && refusesChanges(attempt.reply)) void health.checkNow();
      const delay = delayBeforeNext(attempt, { retry: call.retry, count, clock });
      if (delay === undefined || !route.mayContinue(target, delay)) return attempt;
      sent = withoutRest(attempt);
      node = await route.next(target, delay, attempt);
    }
  };

  const perform: AdapterInstance['perform'] = async (call, scope) => {
    const route = new NodeRoute({ name: instance.name, nodes, health, scope });
    try {
      // Every node can answer a GET, and it may be sent several times.
      return resultOf(await attempted(call, route, call.method === 'GET' ? 'any' : 'primary'));
    } finally {
      await route.count();
    }
  };

  return {
    name: instance.name,
    kind,
    settings: instance,
    totalLimit: instance.timeouts.total,
    nodes,
    standing: () => standingOf(nodes),
    isReadAction: (path) => matchesPaths(instance.readActions ?? kind.readActions, path),
    defaultContentType: (path) => kind.defaultContentType(`${basePath}/${path}`),
    perform,
    hold: () => usage.begin(),
    async close() {
      health.stop();
      // A call that waits for a slot or between two attempts is not in flight at any node yet, but will be.
      await usage.ended();
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

function resultOf(attempt: AttemptResult): FarSideReply {
  if ('failure' in attempt) throw attempt.failure;
  return attempt.reply;
}

/** True if the gateway itself refused the attempt, so that nothing of it was sent. */
function isRefusal(attempt: AttemptResult): boolean {
  const failure = 'failure' in attempt ? attempt.failure : undefined;
  return failure instanceof GatewayError && (failure.code === 'adapter-unavailable' || failure.code === 'adapter-busy');
}

/** Gives up what has not arrived of a reply; its first 64 KiB remain. */
function withoutRest(attempt: AttemptResult): AttemptResult {
  if ('failure' in attempt) return attempt;
  attempt.reply.discard();
  return { reply: { ...attempt.reply, rest: undefined } };
}

/** Milliseconds before the next attempt, or undefined if this attempt is the result of the call. */
function delayBeforeNext(
  attempt: AttemptResult,
  { retry, count, clock }: { readonly retry: AdapterCall['retry']; readonly count: number; readonly clock: Clock },
): number | undefined {
  if (count >= retryLimit[retry]) return undefined;
  if ('failure' in attempt) return mayBeSentAgain(attempt.failure, retry) ? backoff(count) : undefined;
  return retry === 'query' ? retryDelay(attempt.reply, count, clock) : undefined;
}

/** A query may also be repeated if its connection broke; an action only if no byte of it left the gateway. */
function mayBeSentAgain(failure: unknown, retry: AdapterCall['retry']): boolean {
  return retry === 'query' ? mayBeRepeated(failure) : neverLeft(failure);
}

/**
 * Milliseconds before a query is repeated, or undefined if its reply is the result. A 5xx with a RESTCONF error body is about a
 * device, not about the orchestrator, so it is a result.
 */
function retryDelay(reply: FarSideReply, count: number, clock: Clock): number | undefined {
  if (reply.status !== 502 && reply.status !== 503 && reply.status !== 504) return undefined;
  if (!isNodeFault(reply)) return undefined;
  return Math.max(retryAfter(reply.headers, clock), backoff(count));
}

function backoff(attempt: number): number {
  return 10 + Math.random() * backoffBase * 2 ** attempt;
}

function standingOf(nodes: readonly AdapterNode[]): AdapterStanding {
  const standings = nodes.map((node) => node.standing());
  const states = new Set(standings.map(({ state }) => state));
  const errors = standings.flatMap(({ lastError }) => lastError ?? []);
  return {
    state: adapterState(states),
    since: Math.max(...standings.map(({ since }) => since)),
    lastError: errors.toSorted((one, other) => other.at - one.at)[0],
  };
}

/** A node that was never called says nothing about the others. */
function adapterState(ofNodes: ReadonlySet<NodeState>): AdapterState {
  const [only] = ofNodes;
  if (only !== undefined && ofNodes.size === 1) return only;
  return ofNodes.has('offline') || ofNodes.has('degraded') ? 'degraded' : 'online';
}
