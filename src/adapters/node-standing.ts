import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { neverLeft } from '#outbound/sender.ts';
import type { NodeRole, Probed } from './adapter-kind.ts';
import { causeOf, isNodeFailure, isNodeFault, refusesChanges } from './node-failure.ts';

/** The known state of a node, from calls to it and from probes. */
export interface NodeStanding {
  readonly state: 'online' | 'offline';
  /** Milliseconds since the epoch at which this state began. */
  readonly since: number;
  readonly lastError: NodeError | undefined;
  /** Undefined until a probe has found the role. */
  readonly role: NodeRole | undefined;
}

export interface NodeError {
  readonly code: string;
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Tracks the standing of one node. The node is offline if no connection is possible, a probe fails, or its breaker opens. */
interface StandingKeeper {
  current(): NodeStanding;
  answered(reply: FarSideReply): void;
  failed(failure: unknown): void;
  /** A failed call has opened the breaker. */
  broken(): void;
  probed(probed: Probed): void;
  probeFailed(failure: unknown): void;
}

export function keepStanding(options: {
  /** Milliseconds that a call may take by configuration. */
  readonly total: number;
  readonly clock: Clock;
}): StandingKeeper {
  const { total, clock } = options;
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
      if (isNodeFault(reply)) {
        enter(current.state, errorNow('upstream-error', faultText(reply.status)));
      } else if (refusesChanges(reply)) {
        enter('online', { role: 'read-only' });
      } else if (current.state === 'offline') {
        // A node that was the primary may come back with another role.
        enter('online', { role: undefined });
      }
    },
    failed: (failure) => failedAs(failure, { limit: total, offline: false }),
    broken: () => enter('offline'),
    probed({ reply, role }) {
      if (isNodeFault(reply)) enter('offline', errorNow('upstream-error', faultText(reply.status)));
      else enter('online', { role, ...(reply.status === 401 ? errorNow('upstream-error', refusedCredentials) : {}) });
    },
    probeFailed(failure) {
      // A probe does not pass through the breaker, so this error means that there are no credentials. It shows nothing about the
      // node.
      if (failure instanceof GatewayError && failure.code === 'adapter-unavailable')
        enter(current.state, errorNow(failure.code, failure.message));
      // The gateway itself limits the time of a probe, so its time-out counts as a failure of the node.
      else failedAs(failure, { limit: 0, offline: true });
    },
  };
}

function faultText(status: number): string {
  return `It answered ${status} without a RESTCONF error: the node itself or a proxy in front of it has a fault.`;
}

const refusedCredentials = 'It answered 401: it does not accept the credentials of this adapter (auth).';
