import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import { noDryRun, wholeAnswer } from '#adapters/dry-run-proof.ts';
import type { DryRunFormat, DryRuns, Preview, WrittenDryRun } from '#adapters/dry-runs.ts';
import { readRestconfError } from '#adapters/restconf-errors.ts';
import type { FarSideReply, OutboundCall } from '#outbound/outbound-call.ts';
import { isRedirect } from '#outbound/redirect.ts';
import { decideDestination } from './path-decision.ts';
import { type RelayReply, upstreamHeaders } from './relay-reply.ts';
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

/** Bytes of an answer. A preview is kept, shown and approved as a whole, so a longer one is none. */
const longestAnswer = 1024 ** 2;

/**
 * The dry run of a call: its reply is a Preview as JSON. Without a dry run for the call, or without the proof of its node, it does not
 * leave, and fails with `no-dry-run`.
 */
export function dryRunCall(call: ChangingCall, format: DryRunFormat): RelayedCall {
  const { operation, adapter, method, path } = call;
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
      return rendered(reply, await previewOf(reply, dryRuns, { format, path }));
    },
  };
}

/** The path rights hold for the call that would be sent. */
function decided({ adapter, method, path }: ChangingCall, written: WrittenDryRun | { readonly none: string }): RuleDecision {
  const decision = decideDestination(adapter, method, path);
  if (!decision.allowed || !('none' in written)) return decision;
  return { allowed: false, rule: 'no dry run', refusal: noDryRun(`There is no dry run of this call: ${written.none}.`) };
}

async function previewOf(
  reply: FarSideReply,
  dryRuns: DryRuns,
  asked: { readonly format: DryRunFormat; readonly path: string },
): Promise<Preview> {
  if (isRedirect(reply.status) || reply.status >= 400) {
    const error = readRestconfError(reply);
    reply.discard();
    const said = [error?.tag, error?.message].filter((part) => part !== undefined).join(': ');
    const reason = `The orchestrator answered ${reply.status}${said === '' ? '' : `: ${said.replace(/\.$/u, '')}`}.`;
    return { kind: 'none', reason: reason.replaceAll('\0', '\uFFFD').toWellFormed() };
  }
  return dryRuns.read(await wholeAnswer(reply, longestAnswer), asked);
}

function rendered(reply: FarSideReply, preview: Preview): RelayReply {
  return { kind: 'relayed', headers: upstreamHeaders(reply), head: Buffer.from(JSON.stringify(preview)), rest: undefined };
}
