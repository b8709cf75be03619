import type { Clock } from '#base/clock.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import type { ConnectStep } from '#outbound/dialling/connector.ts';
import type { AdapterKind } from '../adapter-kind.ts';
import type { CallerIdentity } from '../credentials/caller-identity.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { RefusalGuard } from '../credentials/refusal-guard.ts';
import type { CommitForm } from '../dry-runs.ts';

/** Shared by the nodes. Milliseconds, bytes. */
interface NodeOptions {
  readonly name: string;
  readonly timeouts: { readonly firstByte: number; readonly idle: number; readonly total: number };
  readonly responseLimit: number;
  readonly concurrency: number;
  readonly queue: number;
  readonly breaker: { readonly failures: number; readonly openFor: number };
}

export interface NodeCall {
  readonly method: OutboundCall['method'];
  /** `params.path` as written. */
  readonly path: string;
  /** Name, value …, without credentials. */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** The caller, where the adapter instance sends calls as their callers. Absent: the gateway itself. */
  readonly identity?: CallerIdentity | undefined;
  /** Writes what is above for the node that gets it, once that node has proven what it is. */
  readonly written?: WrittenForNode;
}

export interface WrittenForNode {
  /** An error: the call does not leave. */
  for(form: CommitForm): Pick<NodeCall, 'path' | 'headers' | 'body'> | GatewayError;
  /** `missing`: why there is no proof. `host`: of the node. */
  unproven(missing: string, host: string): GatewayError;
}

export interface NodeNeeds {
  readonly url: string;
  readonly kind: AdapterKind;
  readonly instance: NodeOptions;
  /** `close` leaves them open. */
  readonly credentials: Credentials;
  readonly guard: RefusalGuard;
  readonly userAgent: string;
  /** With its own connections. */
  readonly open: (onStep?: (step: ConnectStep) => void) => Sender;
  readonly clock: Clock;
  readonly log: Log;
}
