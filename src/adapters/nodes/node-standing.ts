import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { neverLeft } from '#outbound/call/sender.ts';
import type { NodeRole, Probed } from '../adapter-kind.ts';
import { NoCredentials } from '../credentials/credentials.ts';
import { causeOf, isNodeFailure, isNodeFault, refusesChanges } from './node-failure.ts';

/** `unknown`: never called nor probed. `degraded`: refuses the credentials, or answers a probe unlike its kind. */
export type NodeState = 'unknown' | 'online' | 'degraded' | 'offline';

export interface NodeStanding {
  readonly state: NodeState;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly lastError: NodeError | undefined;
  /** Undefined until a probe found it. */
  readonly role: NodeRole | undefined;
  /** Or there are none. */
  readonly credentialsRefused: boolean;
}

/** `degraded` also if some nodes are offline; `offline` if all are. */
export type AdapterState = NodeState;

/** `lastError`: of all nodes. */
export type AdapterStanding = Pick<NodeStanding, 'state' | 'since' | 'lastError'>;

export interface NodeError {
  readonly code: string;
  readonly detail: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** `refused`: with 401, and the gateway has no other ones. `of-person`: they are those of one person. */
type CredentialsAnswer = 'accepted' | 'of-person' | 'refused';

/** Offline: no connection is possible, a probe failed, or the breaker opened. */
interface StandingKeeper {
  current(): NodeStanding;
  answered(reply: UpstreamReply, credentials: CredentialsAnswer): void;
  failed(failure: unknown): void;
  /** A failed call opened the breaker. */
  broken(): void;
  probed(probed: Probed): void;
  probeFailed(failure: unknown): void;
}

type Learned = Partial<Omit<NodeStanding, 'state' | 'since'>>;

export function keepStanding(options: {
  /** For texts. */
  readonly auth: string;
  /** Milliseconds of a call, by configuration. */
  readonly total: number;
  readonly clock: Clock;
  /** On a change of `credentialsRefused`; with the reason if it is true. */
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

  // The error of a probe has the path of the base address, which must not be logged.
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
  const noteFailure = (failure: unknown, { limit, offline }: { readonly limit: number; readonly offline: boolean }): void => {
    const cause = causeOf(failure);
    if (cause instanceof NoCredentials) {
      // No call can be sent, but nothing is known about the node.
      const learned = { credentialsRefused: true, ...errorNow(cause.code, cause.message) };
      enter(current.state === 'offline' ? 'offline' : 'degraded', learned);
    } else if (cause instanceof GatewayError && isNodeFailure(cause, limit)) {
      const isDown = offline || neverLeft(cause) || current.state === 'unknown';
      enter(isDown ? 'offline' : current.state, errorNow(cause.code, cause.message));
    }
  };

  return {
    current: () => current,
    answered(reply, credentials) {
      const { state, credentialsRefused } = current;
      const back = learnedBack(state);
      if (isNodeFault(reply))
        enter(state === 'unknown' ? 'online' : state, errorNow('upstream-error', `It answered ${reply.status}: ${nodeFault}`));
      else if (credentials === 'refused')
        enter('degraded', { ...back, credentialsRefused: true, ...errorNow('upstream-error', refusal) });
      // It answers, and says nothing about the credentials of the gateway itself.
      else if (credentials === 'of-person') enter(state === 'degraded' ? state : 'online', roleAfter(reply, back));
      else if (refusesChanges(reply)) enter('online', { role: 'read-only', credentialsRefused: false });
      // Only a probe ends other degradations. A 401 that is not final does not show accepted credentials.
      else if (state !== 'degraded' || (credentialsRefused && reply.status !== 401))
        enter('online', { ...back, credentialsRefused: false });
    },
    failed: (failure) => noteFailure(failure, { limit: total, offline: false }),
    broken: () => enter('offline'),
    probed(probed) {
      const { state, error, ...learned } = findingOf(probed, auth);
      enter(state, { ...learned, ...(error === undefined ? {} : errorNow('upstream-error', error)) });
    },
    // The gateway itself limits a probe, so its time-out counts.
    probeFailed: (failure) => noteFailure(failure, { limit: 0, offline: true }),
  };
}

/** A former primary may come back in another role. */
function learnedBack(state: NodeState): Learned {
  return state === 'offline' ? { role: undefined } : {};
}

function roleAfter(reply: UpstreamReply, otherwise: Learned): Learned {
  return refusesChanges(reply) ? { role: 'read-only' } : otherwise;
}

/** `error`: a text. */
function findingOf({ path, reply, role, fault }: Probed, auth: string): Learned & { state: NodeState; error?: string } {
  const said = `GET ${path} answered ${reply.status}`;
  if (isNodeFault(reply)) return { state: 'offline', error: `${said}: ${nodeFault}` };
  if (reply.status === 401)
    return { state: 'degraded', role, credentialsRefused: true, error: `${said}: ${refusedCredentials(auth)}` };
  const accepted = { role, credentialsRefused: false };
  return fault === undefined ? { state: 'online', ...accepted } : { state: 'degraded', ...accepted, error: `${said}: ${fault}` };
}

const nodeFault = 'the reply has no RESTCONF error, so the server itself or a proxy in front of it has a fault.';

/** `auth`: the type of authentication. */
export function refusedCredentials(auth: string): string {
  return auth === 'none'
    ? 'the server wants credentials, and this adapter instance has no credentials (auth: none).'
    : `the server refuses the credentials of this adapter instance (auth: ${auth}).`;
}
