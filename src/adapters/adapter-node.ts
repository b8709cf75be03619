import type { Clock } from '#base/clock.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { Semaphore } from '#base/semaphore.ts';
import { CallScope } from '#outbound/call-scope.ts';
import type { ConnectStep } from '#outbound/connector.ts';
import type { FarSideReply, OutboundCall } from '#outbound/outbound-call.ts';
import type { Sender } from '#outbound/sender.ts';
import type { AdapterKind, Asked, Probed } from './adapter-kind.ts';
import { sendAuthenticated } from './authenticated-send.ts';
import type { Credentials } from './credentials.ts';
import { keepDryRunProof } from './dry-run-proof.ts';
import { createNodeBreaker, type NodeBreaker } from './node-breaker.ts';
import { type AttemptResult, failedAtNode } from './node-failure.ts';
import { keepStanding, type NodeStanding } from './node-standing.ts';
import { type NodeTrial, recordTrial } from './node-trial.ts';
import { takeSlot } from './slots.ts';

/** The configuration that all nodes of an adapter instance share. Durations are in milliseconds, sizes in bytes. */
interface NodeOptions {
  readonly name: string;
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly concurrency: number;
  readonly queue: number;
  readonly breaker: { readonly failures: number; readonly openFor: number };
}

/** A call to an orchestrator, relative to its base address. */
export interface NodeCall {
  readonly method: OutboundCall['method'];
  /** `params.path` as the caller wrote it, with or without its leading slash. */
  readonly path: string;
  /** Alternating names and values, without credentials. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** True: the call asks for a dry run, so it goes only to a node that has proven that it knows them (`AdapterKind.dryRuns`). */
  readonly isDryRun?: true;
  /** The failure in place of the call, once its node has proven that: the call does not leave. */
  readonly refusal?: GatewayError;
}

/** One address of an orchestrator, with its own connections and breaker. NSO calls this a node of a high-availability group. */
export interface AdapterNode {
  /** As configured; it contains no credentials. */
  readonly url: string;
  readonly breaker: NodeBreaker;
  /** Each call in flight has one. */
  readonly slots: Semaphore;
  standing(): NodeStanding;
  /** See `takeSlot`. The caller releases the slot. */
  takeSlot(scope: CallScope): Promise<void> | undefined;
  /**
   * Sends the call once; a query that gets a 401 is sent again if that can help. Never rejects. The failure is one of
   * Sender.send, or `adapter-unavailable` if the breaker is open or there are no credentials, or `no-dry-run`.
   */
  send(call: NodeCall, scope: CallScope): Promise<AttemptResult>;
  /** Counts a call for the breaker, by the result of its last attempt at this node. */
  count(result: AttemptResult): Promise<void>;
  /** Probes the node. Never rejects: a failure appears in the standing. */
  probe(): Promise<void>;
  /** Probes over a new connection, and reports each step with its duration. Never rejects. */
  tryNow(): Promise<NodeTrial>;
  close(): Promise<void>;
}

/** Milliseconds after which a probe has failed. */
const probeLimit = 10_000;

interface NodeNeeds {
  readonly url: string;
  readonly kind: AdapterKind;
  readonly instance: NodeOptions;
  /** Shared with the other nodes; `close` does not close them. */
  readonly credentials: Credentials;
  /** The User-Agent of probes. */
  readonly userAgent: string;
  /** Makes a sender with its own connections. */
  readonly open: (onStep?: (step: ConnectStep) => void) => Sender;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAdapterNode(options: NodeNeeds): AdapterNode {
  const { url, kind, instance, credentials, clock } = options;
  const { name, timeouts } = instance;
  const breaker = createNodeBreaker({ name, url, ...instance.breaker, total: timeouts.total, clock });
  const onCredentials = credentialsLog(options);
  const standing = keepStanding({ auth: credentials.type, total: timeouts.total, clock, onCredentials });
  const sender = options.open();
  const outbound = callsTo(options);
  const prober = createProber(options, outbound);
  const slots = new Semaphore(instance.concurrency);
  const send = attemptsOf(options, { breaker, standing, sender, outbound });

  return {
    url,
    breaker,
    slots,
    standing: () => standing.current(),
    takeSlot: (scope) => takeSlot(slots, instance, scope),
    send,
    async count(result) {
      await breaker.count(result);
      if (breaker.state === 'open' && failedAtNode(result, timeouts.total)) standing.broken();
    },
    async probe() {
      try {
        standing.probed(await prober.probe(sender));
      } catch (failure) {
        standing.probeFailed(failure);
      }
    },
    async tryNow() {
      const record = recordTrial({ url, auth: credentials.type, clock, speaksRestconf: kind.name !== 'rest' });
      const once = options.open((step) => record.done(step));
      try {
        const found = await prober.probe(once);
        standing.probed(found);
        return record.answered(found);
      } catch (failure) {
        standing.probeFailed(failure);
        return record.failed(failure);
      } finally {
        await once.close();
      }
    },
    async close() {
      prober.stop();
      await sender.close();
    },
  };
}

/** Makes the attempts of calls at one node. A dry run needs the proof of the node first. */
function attemptsOf(
  { url, kind, credentials, userAgent, clock }: NodeNeeds,
  parts: {
    readonly breaker: NodeBreaker;
    readonly standing: ReturnType<typeof keepStanding>;
    readonly sender: Sender;
    readonly outbound: ToOutbound;
  },
): AdapterNode['send'] {
  const { breaker, standing, sender, outbound } = parts;
  const attempt = async (call: NodeCall, scope: CallScope): Promise<AttemptResult> => {
    try {
      if (call.isDryRun === true) await proof.require(scope);
      if (call.refusal !== undefined) return { failure: call.refusal };
      const send = (held: readonly string[]): Promise<FarSideReply> =>
        breaker.run(() => sender.send(outbound(call, held), scope));
      const { reply, refused } = await sendAuthenticated({ credentials, isQuery: call.method === 'GET', scope, send });
      standing.answered(reply, refused);
      return { reply };
    } catch (failure) {
      standing.failed(failure);
      // Another server may answer at the address next time.
      proof.forget();
      return { failure };
    }
  };
  const proof = keepDryRunProof({
    kind,
    url,
    clock,
    send: (path, accept, scope) => attempt({ method: 'GET', path, headers: ['Accept', accept, 'User-Agent', userAgent] }, scope),
  });
  return attempt;
}

/** Writes a line when the node begins to refuse the credentials, and when it accepts them again. */
function credentialsLog({ url, instance, log }: NodeNeeds): (refusal: string | undefined) => void {
  // Without the path of the base address, which may hold a secret.
  const about = { adapter: instance.name, address: new URL(url).host };
  return (refusal) => {
    if (refusal === undefined) log.info('the credentials of an adapter instance are accepted again', about);
    else log.warn('the credentials of an adapter instance are refused', { ...about, reason: refusal });
  };
}

type ToOutbound = (call: NodeCall, credentials: readonly string[]) => OutboundCall;

/** Converts calls of this node to outbound calls: joins the path to the base address, and adds the credentials. */
function callsTo({ url, instance }: NodeNeeds): ToOutbound {
  const base = new URL(url);
  const { origin } = base;
  const basePath = base.pathname.replace(/\/+$/u, '');
  return (call, credentials) => ({
    origin,
    path: `${basePath}/${call.path.startsWith('/') ? call.path.slice(1) : call.path}`,
    method: call.method,
    headers: [...call.headers, ...credentials],
    body: call.body,
    stateChanging: call.method !== 'GET',
    timeouts: instance.timeouts,
    responseLimit: instance.responseLimit,
  });
}

/** Sends probes with a sender. Probes do not pass through the breaker. */
interface Prober {
  probe(sender: Sender): Promise<Probed>;
  /** Aborts all probes in progress. */
  stop(): void;
}

function createProber({ kind, instance, credentials, userAgent, clock }: NodeNeeds, outbound: ToOutbound): Prober {
  const scopes = new Set<CallScope>();
  const askOne = async (sender: Sender, scope: CallScope, path: string, accept: string): Promise<Asked> => {
    const call = { method: 'GET', path, headers: ['Accept', accept, 'User-Agent', userAgent] } as const;
    const send = (held: readonly string[]): Promise<FarSideReply> => sender.send(outbound(call, held), scope);
    const { reply } = await sendAuthenticated({ credentials, isQuery: true, scope, send });
    reply.discard();
    return { path: outbound(call, []).path, reply };
  };
  return {
    async probe(sender) {
      const scope = new CallScope({ total: Math.min(probeLimit, instance.timeouts.total), clock });
      scopes.add(scope);
      try {
        return await kind.probe((path, accept) => askOne(sender, scope, path, accept));
      } finally {
        scopes.delete(scope);
        scope.end();
      }
    },
    stop() {
      for (const scope of scopes) scope.abort(new Error('the adapter is closed'));
    },
  };
}
