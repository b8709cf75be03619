import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import { noDryRun } from '#adapters/dry-run-proof.ts';
import type { DryRunFormat, NoDryRun, WrittenDryRun } from '#adapters/dry-runs.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import { decideDestination } from './path-decision.ts';
import type { CallOperation, RelayedCall, RuleDecision } from './relayed-call.ts';

/** A call to an orchestrator as it would be sent. */
interface ChangingCall {
  readonly operation: CallOperation;
  readonly adapter: AdapterInstance;
  readonly method: OutboundCall['method'];
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer | undefined;
  readonly passedOn: Readonly<Record<string, string>>;
  /** The headers of a call with this Accept and this Content-Type. */
  readonly headers: (accept: string, contentType: string | undefined) => readonly string[];
}

/**
 * The dry run of a call. Without a dry run for the call, or without the proof of its node, it does not
 * leave, and fails with `no-dry-run`.
 */
export function dryRunCall(call: ChangingCall, format: DryRunFormat): RelayedCall {
  const { operation, adapter, method } = call;
  const { dryRuns } = adapter.kind;
  const written: WrittenDryRun | NoDryRun =
    dryRuns === undefined
      ? { none: `the adapter instance "${adapter.name}" is of kind ${adapter.kind.name}, which has no dry runs` }
      : dryRuns.write(call, format);
  return {
    operation,
    method,
    timeLimit: adapter.totalLimit,
    decide: () => decided(call, written),
    hold: () => adapter.hold(),
    async send(scope, record) {
      if (dryRuns === undefined) throw new Error('A call without a dry run passed its decision.');
      const isUnsent = 'none' in written;
      const { path, body, contentType } = isUnsent ? call : written;
      const headers = call.headers(dryRuns.accept, body && contentType);
      const asked = { method, path, headers, body, retry: 'action', isDryRun: true } as const;
      const reply = await adapter.perform({ ...asked, ...(isUnsent && { refusal: refusalOf(written) }) }, scope);
      record.note({ upstreamStatus: reply.status });
      return reply;
    },
  };
}

/** The path rights hold for the call that would be sent. */
function decided({ adapter, method, path }: ChangingCall, written: WrittenDryRun | NoDryRun): RuleDecision {
  const decision = decideDestination(adapter, method, path);
  if (!decision.allowed || !('none' in written) || written.ofProven === true) return decision;
  return { allowed: false, rule: 'no dry run', refusal: refusalOf(written) };
}

function refusalOf({ none }: NoDryRun): GatewayError {
  return noDryRun(`There is no dry run of this call: ${none}.`);
}
