import type { Clock } from '#base/clock.ts';
import { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply, OutboundCall } from '#outbound/outbound-call.ts';
import type { Sender } from '#outbound/sender.ts';
import type { AdapterKind, Ask } from './adapter-kind.ts';
import { createNodeBreaker, type NodeBreaker } from './node-breaker.ts';
import { keepStanding, type NodeStanding } from './node-standing.ts';
import { createSlots, type Slots } from './slots.ts';

/** What the nodes of an adapter instance have in common; durations in milliseconds, sizes in bytes. */
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
  /** Names and values in turn, without credentials. */
  readonly headers: readonly string[];
  readonly body?: Buffer;
}

/** One of an orchestrator's addresses (in NSO's words a node of a high-availability group), with connections and a breaker of its own. */
export interface AdapterNode {
  /** As configured: it holds no credentials. */
  readonly url: string;
  readonly breaker: NodeBreaker;
  readonly slots: Slots;
  standing(): NodeStanding;
  /** Sends the call once. Rejects as Sender.send does, or with `adapter-unavailable` while the breaker is open. */
  send(call: NodeCall, scope: CallScope): Promise<FarSideReply>;
  /** Asks how it is. Never rejects: what went wrong is in the standing. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** A probe that takes longer than this many milliseconds has failed. */
const probeLimit = 10_000;

export function createAdapterNode(options: {
  readonly url: string;
  readonly kind: AdapterKind;
  readonly instance: NodeOptions;
  /** Name and value, or nothing. */
  readonly credentials: readonly string[];
  readonly userAgent: string;
  readonly sender: Sender;
  readonly clock: Clock;
}): AdapterNode {
  const { url, kind, instance, credentials, userAgent, sender, clock } = options;
  const { name, timeouts } = instance;
  const base = new URL(url);
  const basePath = base.pathname.replace(/\/+$/u, '');
  const breaker = createNodeBreaker({ name, url, ...instance.breaker, total: timeouts.total, clock });
  const standing = keepStanding({ breaker, total: timeouts.total, clock });

  const outbound = (call: NodeCall): OutboundCall => ({
    origin: base.origin,
    path: `${basePath}/${call.path.startsWith('/') ? call.path.slice(1) : call.path}`,
    method: call.method,
    headers: [...call.headers, ...credentials],
    ...(call.body === undefined ? {} : { body: call.body }),
    stateChanging: call.method !== 'GET',
    timeouts,
    responseLimit: instance.responseLimit,
  });

  return {
    url,
    breaker,
    slots: createSlots(instance),
    standing: () => standing.current(),
    async send(call, scope) {
      try {
        const reply = await breaker.run(() => sender.send(outbound(call), scope));
        standing.answered(reply);
        return reply;
      } catch (failure) {
        standing.failed(failure);
        throw failure;
      }
    },
    async probe() {
      const scope = new CallScope({ total: Math.min(probeLimit, timeouts.total), clock });
      const ask: Ask = async (path, accept) => {
        const headers = ['Accept', accept, 'User-Agent', userAgent];
        const reply = await sender.send(outbound({ method: 'GET', path, headers }), scope);
        reply.discard();
        return reply;
      };
      try {
        standing.probed(await kind.probe(ask));
      } catch (failure) {
        standing.probeFailed(failure);
      } finally {
        scope.finish();
      }
    },
    close: () => sender.close(),
  };
}
