import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import { noDryRun } from '#adapters/dry-run-proof.ts';
import type { DryRunFormat, WrittenDryRun } from '#adapters/dry-runs.ts';
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
  const written =
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
      if (dryRuns === undefined || 'none' in written) throw new Error('A call without a dry run passed its decision.');
      const { body, contentType } = written;
      const headers = call.headers(dryRuns.accept, body && contentType);
      const asked = { method, path: written.path, headers, body, retry: 'action', isDryRun: true } as const;
      const reply = await adapter.perform(asked, scope);
      record.note({ upstreamStatus: reply.status });
      return reply;
    },
  };
}

/** The path rights hold for the call that would be sent. */
function decided({ adapter, method, path }: ChangingCall, written: WrittenDryRun | { readonly none: string }): RuleDecision {
  const decision = decideDestination(adapter, method, path);
  if (!decision.allowed || !('none' in written)) return decision;
  return { allowed: false, rule: 'no dry run', refusal: noDryRun(`There is no dry run of this call: ${written.none}.`) };
}
