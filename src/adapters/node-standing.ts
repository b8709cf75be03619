import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { neverLeft } from '#outbound/sender.ts';
import type { NodeRole, Probed } from './adapter-kind.ts';
import type { NodeBreaker } from './node-breaker.ts';
import { causeOf, isNodeFailure, refusesChanges, speaksOfTheNode } from './node-failure.ts';

/** What is known of a node from the calls that went to it and from probes. */
export interface NodeStanding {
  readonly state: 'online' | 'offline';
  /** Milliseconds since the epoch: when it came into this state. */
  readonly since: number;
  readonly lastError: NodeError | undefined;
  /** Undefined until a probe has told. */
  readonly role: NodeRole | undefined;
}

export interface NodeError {
  readonly code: string;
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Keeps the standing of one node. It is offline once it cannot be connected to, fails a probe or has its breaker open. */
interface StandingKeeper {
  current(): NodeStanding;
  answered(reply: FarSideReply): void;
  failed(failure: unknown): void;
  probed(probed: Probed): void;
  probeFailed(failure: unknown): void;
}

export function keepStanding(options: {
  readonly breaker: NodeBreaker;
  /** Milliseconds that a call has by configuration. */
  readonly total: number;
  readonly clock: Clock;
}): StandingKeeper {
  const { breaker, total, clock } = options;
  let current: NodeStanding = { state: 'online', since: clock.now(), lastError: undefined, role: undefined };

  const enter = (state: NodeStanding['state'], learned: Partial<Pick<NodeStanding, 'lastError' | 'role'>> = {}): void => {
    current = { ...current, ...learned, state, since: state === current.state ? current.since : clock.now() };
  };
  const errorNow = (code: string, detail: string): Pick<NodeStanding, 'lastError'> => ({
    lastError: { code, detail, at: clock.now() },
  });
  const failedAs = (failure: unknown, { limit, offline }: { readonly limit: number; readonly offline: boolean }): void => {
    const cause = causeOf(failure);
    if (!(cause instanceof GatewayError) || !isNodeFailure(cause, limit)) return;
    enter(offline || neverLeft(cause) ? 'offline' : current.state, errorNow(cause.code, cause.message));
  };

  return {
    current: () => current,
    answered(reply) {
      if (speaksOfTheNode(reply)) {
        enter(breaker.state === 'open' ? 'offline' : current.state, errorNow('upstream-error', ill(reply.status)));
      } else if (refusesChanges(reply)) {
        enter('online', { role: 'read-only' });
      } else if (current.state === 'offline') {
        // What was the primary may be back as something else.
        enter('online', { role: undefined });
      }
    },
    failed: (failure) => failedAs(failure, { limit: total, offline: breaker.state === 'open' }),
    probed({ reply, role }) {
      if (speaksOfTheNode(reply)) enter('offline', errorNow('upstream-error', ill(reply.status)));
      else enter('online', { role, ...(reply.status === 401 ? errorNow('upstream-error', refusedCredentials) : {}) });
    },
    probeFailed(failure) {
      // A probe passes by the breaker: there are no credentials to be had, which says nothing of the node.
      if (failure instanceof GatewayError && failure.code === 'adapter-unavailable')
        enter(current.state, errorNow(failure.code, failure.message));
      // A probe has less time than a call, by the gateway's own choice: that it ran out speaks of the node.
      else failedAs(failure, { limit: 0, offline: true });
    },
  };
}

function ill(status: number): string {
  return `It answered ${status} without a RESTCONF error: it is ill itself, or what stands before it.`;
}

const refusedCredentials = 'It answered 401: it does not take the credentials of this adapter (auth).';
