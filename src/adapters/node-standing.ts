import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { neverLeft } from '#outbound/sender.ts';
import type { NodeRole, Probed } from './adapter-kind.ts';
import { NoCredentials } from './credentials.ts';
import { causeOf, isNodeFailure, isNodeFault, refusesChanges } from './node-failure.ts';

/**
 * `unknown`: never called nor probed. `degraded`: the node answers, but refuses the credentials of the adapter instance, or its answer
 * to a probe is not the one of its kind.
 */
export type NodeState = 'unknown' | 'online' | 'degraded' | 'offline';

/** The known condition of a node, from calls to it and from probes. */
export interface NodeStanding {
  readonly state: NodeState;
  /** Milliseconds since the epoch at which this state began. */
  readonly since: number;
  readonly lastError: NodeError | undefined;
  /** Undefined until a probe has found the role. */
  readonly role: NodeRole | undefined;
  /** The node refuses the credentials, or there are none. */
  readonly credentialsRefused: boolean;
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
  /** `refused`: the reply refuses the credentials, and the gateway has no others. */
  answered(reply: FarSideReply, refused: boolean): void;
  failed(failure: unknown): void;
  /** A failed call has opened the breaker. */
  broken(): void;
  probed(probed: Probed): void;
  probeFailed(failure: unknown): void;
}

type Learned = Partial<Omit<NodeStanding, 'state' | 'since'>>;

export function keepStanding(options: {
  /** The type of authentication, for texts. */
  readonly auth: string;
  /** Milliseconds that a call may take by configuration. */
  readonly total: number;
  readonly clock: Clock;
  /** Called when `credentialsRefused` changes, with the reason if it is true now. */
  readonly onCredentials: (refusal: string | undefined) => void;
}): StandingKeeper {
  const { auth, total, clock, onCredentials } = options;
  const refusal = `It answered 401: ${refusedCredentials(auth)}`;
  let current: NodeStanding = {
    state: 'unknown',
    since: clock.now(),
    lastError: undefined,
    role: undefined,
    credentialsRefused: false,
  };

  // The error of a probe has the path of the base address, which does not belong into the log.
  const reason = (): string => (current.lastError?.code === 'adapter-unavailable' ? current.lastError.detail : refusal);
  const enter = (state: NodeState, learned: Learned = {}): void => {
    const before = current;
    current = { ...before, ...learned, state, since: state === before.state ? before.since : clock.now() };
    if (current.credentialsRefused !== before.credentialsRefused)
      onCredentials(current.credentialsRefused ? reason() : undefined);
  };
  const errorNow = (code: string, detail: string): Pick<NodeStanding, 'lastError'> => ({
    lastError: { code, detail, at: clock.now() },
  });
  const failedAs = (failure: unknown, { limit, offline }: { readonly limit: number; readonly offline: boolean }): void => {
    const cause = causeOf(failure);
    if (cause instanceof NoCredentials) {
      // It shows nothing about the node, but no call can be sent.
      const learned = { credentialsRefused: true, ...errorNow(cause.code, cause.message) };
      enter(current.state === 'offline' ? 'offline' : 'degraded', learned);
    } else if (cause instanceof GatewayError && isNodeFailure(cause, limit)) {
      const isDown = offline || neverLeft(cause) || current.state === 'unknown';
      enter(isDown ? 'offline' : current.state, errorNow(cause.code, cause.message));
    }
  };

  return {
    current: () => current,
    answered(reply, refused) {
      const { state, credentialsRefused } = current;
      // A node that was the primary may come back with another role.
      const back: Learned = state === 'offline' ? { role: undefined } : {};
      if (isNodeFault(reply)) enter(state === 'unknown' ? 'online' : state, errorNow('upstream-error', faultText(reply)));
      else if (refused) enter('degraded', { ...back, credentialsRefused: true, ...errorNow('upstream-error', refusal) });
      else if (refusesChanges(reply)) enter('online', { role: 'read-only', credentialsRefused: false });
      // A call does not show what a probe looks for. A 401 that is not final does not show that credentials are accepted.
      else if (state !== 'degraded' || (credentialsRefused && reply.status !== 401))
        enter('online', { ...back, credentialsRefused: false });
    },
    failed: (failure) => failedAs(failure, { limit: total, offline: false }),
    broken: () => enter('offline'),
    probed(probed) {
      const { state, error, ...learned } = findingOf(probed, auth);
      enter(state, { ...learned, ...(error === undefined ? {} : errorNow('upstream-error', error)) });
    },
    // The gateway itself limits the time of a probe, so its time-out counts as a failure of the node.
    probeFailed: (failure) => failedAs(failure, { limit: 0, offline: true }),
  };
}

/** What a probe shows of a node. `error` is the text of an error. */
function findingOf({ path, reply, role, fault }: Probed, auth: string): Learned & { state: NodeState; error?: string } {
  const said = `GET ${path} answered ${reply.status}`;
  if (isNodeFault(reply)) return { state: 'offline', error: `${said}: ${nodeFault}` };
  if (reply.status === 401)
    return { state: 'degraded', role, credentialsRefused: true, error: `${said}: ${refusedCredentials(auth)}` };
  const accepted = { role, credentialsRefused: false };
  return fault === undefined ? { state: 'online', ...accepted } : { state: 'degraded', ...accepted, error: `${said}: ${fault}` };
}

const nodeFault = 'the reply has no RESTCONF error, so the server itself or a proxy in front of it has a fault.';

function faultText({ status }: FarSideReply): string {
  return `It answered ${status}: ${nodeFault}`;
}

/** Why a node answers 401. `auth` is the type of authentication. */
export function refusedCredentials(auth: string): string {
  return auth === 'none'
    ? 'the server wants credentials, and this adapter instance has no credentials (auth: none).'
    : `the server refuses the credentials of this adapter instance (auth: ${auth}).`;
}
