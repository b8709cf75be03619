import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withMaskedQuery } from '#base/text/masked-query.ts';
import { TimeLimitPassed } from '#outbound/call/call-scope.ts';
import type { CallFacts } from '../call-outcome.ts';

/** Why a call failed, as its log line says it. It has no text of a body, and no value of a query. */
export interface Explanation {
  readonly detail: string | undefined;
  /** `scheme://host:port` of a restCall. Its path is left out, because it may be a secret, as in the address of a webhook. */
  readonly destination: string | undefined;
  /** The orchestrator's path, or the path of the request itself. */
  readonly path: string | undefined;
  readonly phase: Phase;
}

/** `request`: nothing was sent. `reply`: the call left. The others are steps between the two, and time limits. */
type Phase = 'request' | 'dns' | 'connect' | 'tls' | 'reply' | TimeLimitPassed['limit'];

/** Characters of a text that are kept. */
const maxLength = 1_000;

interface FailedCall {
  /** Replaces the values of secrets. */
  readonly mask: (text: string) => string;
  readonly principal: Principal;
  readonly facts: CallFacts;
  readonly failure: GatewayError | undefined;
}

/** See CallOrigin. */
interface FailedOrigin {
  readonly route: string | undefined;
  readonly address: string;
}

export function explanationOf(call: FailedCall, origin: FailedOrigin): Explanation {
  const { facts, failure, mask } = call;
  const detail = failure?.logged ?? facts.refusal;
  return {
    detail: detail === undefined ? undefined : mask(detail).slice(0, maxLength),
    ...placeOf(call, origin),
    phase: phaseOf(failure) ?? (facts.traffic?.traffic.left === true ? 'reply' : 'request'),
  };
}

function placeOf({ principal, facts, mask }: FailedCall, origin: FailedOrigin): Pick<Explanation, 'destination' | 'path'> {
  const { adapter, address } = facts;
  if (address !== undefined) {
    return adapter === undefined
      ? { destination: new URL(address).origin, path: undefined }
      : { destination: undefined, path: loggedPath(mask(address)) };
  }
  // What a caller without credentials asks for may be anything.
  const isKnown = principal.username !== '' && origin.route !== undefined;
  return { destination: undefined, path: isKnown ? loggedPath(origin.address) : undefined };
}

function loggedPath(path: string): string {
  return withMaskedQuery(path).slice(0, maxLength);
}

/** The phase that the failure names, or one of the failures that caused it. */
function phaseOf(failure: unknown): Phase | undefined {
  if (failure instanceof TimeLimitPassed) return failure.limit;
  if (!(failure instanceof GatewayError)) return undefined;
  return phaseOf(failure.cause) ?? phasesOfCodes.get(failure.code);
}

const phasesOfCodes: ReadonlyMap<string, Phase> = new Map([
  ['upstream-dns-failed', 'dns'],
  ['upstream-connect-failed', 'connect'],
  ['upstream-tls-failed', 'tls'],
]);
