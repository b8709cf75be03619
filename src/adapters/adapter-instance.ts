import type { Clock } from '#base/clock.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { createUsage } from '#base/timing/usage.ts';
import type { CallScope } from '#outbound/call/call-scope.ts';
import { retryAfter, type UpstreamReply } from '#outbound/call/outbound-call.ts';
import { mayBeRepeated, neverLeft } from '#outbound/call/sender.ts';
import type { AdapterKind } from './adapter-kind.ts';
import type { FoundCommit } from './commit-stamps.ts';
import type { CallerMapping } from './credentials/credentials.ts';
import type { ChangeCall } from './dry-runs.ts';
import type { AdapterNode } from './nodes/adapter-node.ts';
import type { NodeCall } from './nodes/node-call.ts';
import { type AttemptResult, isNodeFault, refusesChanges } from './nodes/node-failure.ts';
import { NodeRoute, startHealthChecks, type Target } from './nodes/node-route.ts';
import type { AdapterStanding, AdapterState, NodeState } from './nodes/node-standing.ts';
import { matchesPaths, type PathRights } from './paths/path-rights.ts';

/** Without its nodes. Milliseconds. */
export interface AdapterInstanceOptions extends PathRights {
  readonly name: string;
  readonly timeouts: { readonly total: number };
  readonly health: { readonly interval: number } | 'off';
  readonly concurrency: number;
  readonly queue: number;
  /** Globs of POST actions that change nothing. Default: those of the kind. */
  readonly readActions?: readonly string[];
  /** Its configuration changes name the person, in label and comment of the commit. */
  readonly stamp?: boolean;
  readonly tls?: { readonly verify: boolean };
  readonly proxy?: object;
}

export interface AdapterCall extends NodeCall {
  /** `query`: two retries. `action`: one, if no byte had left. */
  readonly retry: 'query' | 'action';
}

export interface AdapterInstance {
  readonly name: string;
  readonly kind: AdapterKind;
  readonly settings: AdapterInstanceOptions;
  /** Set where each call is sent as its caller. `hasService`: the gateway has an account of its own too. */
  readonly callers: (CallerMapping & { readonly hasService: boolean }) | undefined;
  /** Milliseconds. A caller may ask for less. */
  readonly totalLimit: number;
  /** At least one, as configured. */
  readonly nodes: readonly AdapterNode[];
  standing(): AdapterStanding;
  /** POST, in every reading of the path. */
  isReadAction(path: string): boolean;
  /** The call leaves with a stamp. */
  stamps(call: ChangeCall): boolean;
  /** Why the label of a call that gets no stamp is not taken. Continues a sentence on the call. */
  labelRefusal(call: ChangeCall): string | undefined;
  /** Whether a node has the commit with this label. Never rejects. */
  findCommit(label: string): Promise<FoundCommit>;
  /** `path`: `params.path`. */
  defaultContentType(path: string): string;
  /** Holds a slot until the scope ends. Rejects as Sender.send does, or with `adapter-busy` or `adapter-unavailable`. */
  perform(call: AdapterCall, scope: CallScope): Promise<UpstreamReply>;
  /** Keeps the instance open for a call, before it is on record. Call the result once at its end. */
  hold(): () => void;
  /** Resolves when all held calls and streamed replies have ended. */
  close(): Promise<void>;
}

const retryLimit = { query: 2, action: 1 } as const;
/** Milliseconds, doubled with each attempt, with full jitter. */
const backoffBase = 100;

export function createAdapterInstance(options: {
  readonly kind: AdapterKind;
  readonly instance: AdapterInstanceOptions;
  readonly nodes: readonly AdapterNode[];
  readonly callers?: AdapterInstance['callers'];
  readonly clock: Clock;
}): AdapterInstance {
  const { kind, instance, nodes, callers, clock } = options;
  const health = startHealthChecks({ nodes, health: callers?.hasService === false ? 'off' : instance.health });
  const usage = createUsage();
  // All nodes have the same path.
  const basePath = nodes[0] === undefined ? '' : new URL(nodes[0].url).pathname;

  const tryNodes = async (call: AdapterCall, route: NodeRoute, target: Target): Promise<AttemptResult> => {
    const first = route.begin(target);
    let node = first instanceof Promise ? await first : first;
    let sent: AttemptResult | undefined;
    for (let count = 0; ; count += 1) {
      const attempt = await route.attempt(node, call);
      // The earlier attempt left, and alone says what became of the call.
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
      // Every node can answer a GET.
      return resultOf(await tryNodes(call, route, call.method === 'GET' ? 'any' : 'primary'));
    } finally {
      await route.count();
    }
  };

  return {
    name: instance.name,
    kind,
    settings: instance,
    callers,
    totalLimit: instance.timeouts.total,
    nodes,
    standing: () => standingOf(nodes),
    isReadAction: (path) => matchesPaths(instance.readActions ?? kind.readActions, path),
    ...stampsOf({ kind, instance, basePath }),
    async findCommit(label) {
      const answers = await Promise.all(nodes.map((node) => node.findCommit(label)));
      const known = answers.find((answer) => 'found' in answer && answer.found) ?? answers.find((answer) => 'unknown' in answer);
      return known ?? answers[0] ?? { unknown: 'The adapter instance has no node.' };
    },
    defaultContentType: (path) => kind.defaultContentType(`${basePath}/${path}`),
    perform,
    hold: () => usage.begin(),
    async close() {
      health.stop();
      // A call may still wait for a slot or its next attempt.
      await usage.ended();
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

function stampsOf({
  kind: { stamps },
  instance,
  basePath,
}: {
  readonly kind: AdapterKind;
  readonly instance: AdapterInstanceOptions;
  readonly basePath: string;
}): Pick<AdapterInstance, 'labelRefusal' | 'stamps'> {
  const wholly = (call: ChangeCall): ChangeCall => ({ ...call, path: `${basePath}/${call.path}` });
  if (instance.stamp !== true || stamps === undefined) return { stamps: () => false, labelRefusal: () => undefined };
  return {
    stamps: (call) => stamps.isChange(wholly(call)),
    labelRefusal: (call) => (call.method === 'GET' ? undefined : stamps.labelRefusal(wholly(call))),
  };
}

function resultOf(attempt: AttemptResult): UpstreamReply {
  if ('failure' in attempt) throw attempt.failure;
  return attempt.reply;
}

/** Nothing was sent. */
function isRefusal(attempt: AttemptResult): boolean {
  const failure = 'failure' in attempt ? attempt.failure : undefined;
  return failure instanceof GatewayError && refusals.has(failure.code);
}

const refusals: ReadonlySet<ErrorCode> = new Set(['adapter-unavailable', 'adapter-busy', 'credentials-refused']);

/** Keeps the first 64 KiB. */
function withoutRest(attempt: AttemptResult): AttemptResult {
  if ('failure' in attempt) return attempt;
  attempt.reply.discard();
  return { reply: { ...attempt.reply, rest: undefined } };
}

/** Milliseconds. Undefined: this is the result of the call. */
function delayBeforeNext(
  attempt: AttemptResult,
  { retry, count, clock }: { readonly retry: AdapterCall['retry']; readonly count: number; readonly clock: Clock },
): number | undefined {
  if (count >= retryLimit[retry]) return undefined;
  if ('failure' in attempt) return mayBeSentAgain(attempt.failure, retry) ? backoff(count) : undefined;
  return retry === 'query' ? retryDelay(attempt.reply, count, clock) : undefined;
}

function mayBeSentAgain(failure: unknown, retry: AdapterCall['retry']): boolean {
  return retry === 'query' ? mayBeRepeated(failure) : neverLeft(failure);
}

/** Milliseconds. Undefined: this is the result of the call. */
function retryDelay(reply: UpstreamReply, count: number, clock: Clock): number | undefined {
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

/** A node that was never called says nothing. */
function adapterState(ofNodes: ReadonlySet<NodeState>): AdapterState {
  const [only] = ofNodes;
  if (only !== undefined && ofNodes.size === 1) return only;
  return ofNodes.has('offline') || ofNodes.has('degraded') ? 'degraded' : 'online';
}
