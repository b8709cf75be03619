import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope, untilAborted } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { AdapterKind } from './adapter-kind.ts';
import type { CommitForm, DryRunProof, WholeAnswer } from './dry-runs.ts';
import type { AttemptResult } from './nodes/node-failure.ts';

/** Milliseconds. Another server may come to the address. */
const proofHolds = 60_000;
/** Milliseconds. */
const proofLimit = 10_000;
/** Bytes of what the gateway itself reads. */
export const maxProofSize = 4 * 1024 ** 2;

interface KeptProof {
  /** Rejects as the reads do. */
  ask(scope: CallScope): Promise<DryRunProof>;
  /** The node may be another server now. */
  forget(): void;
}

/** `path`: relative to the node. Never rejects. */
type SendRead = (path: string, accept: string, scope: CallScope) => Promise<AttemptResult>;

export function keepDryRunProof(options: {
  readonly kind: AdapterKind;
  readonly clock: Clock;
  readonly send: SendRead;
}): KeptProof {
  const { clock } = options;
  let proven: { readonly at: number; readonly form: CommitForm } | undefined;
  /** A reading that began before proves nothing for later. */
  let forgotten = 0;
  /** Calls share one reading. */
  let reading: Promise<DryRunProof> | undefined;
  const read = async (): Promise<DryRunProof> => {
    const [at, before] = [clock.monotonic(), forgotten];
    const proof = await readProof(options);
    if ('form' in proof && before === forgotten) proven = { at, form: proof.form };
    return proof;
  };
  return {
    async ask(scope) {
      if (proven !== undefined && clock.monotonic() - proven.at < proofHolds) return proven;
      proven = undefined;
      reading ??= read().finally(() => (reading = undefined));
      return await untilAborted(scope, reading);
    },
    forget() {
      forgotten += 1;
      proven = undefined;
    },
  };
}

/** A sentence. */
export function noDryRun(detail: string): GatewayError {
  return new GatewayError('no-dry-run', detail);
}

async function readProof({ kind, clock, send }: Parameters<typeof keepDryRunProof>[0]): Promise<DryRunProof> {
  if (kind.dryRuns === undefined) return { missing: `an adapter of kind ${kind.name} has no dry runs` };
  const scope = new CallScope({ total: proofLimit, clock });
  try {
    return await kind.dryRuns.prove(async (path, accept) => {
      const sent = await send(path, accept, scope);
      if ('failure' in sent) throw sent.failure;
      return await wholeAnswer(sent.reply, maxProofSize);
    });
  } finally {
    scope.end();
  }
}

/** Rejects with `response-too-large` beyond `limit` bytes. */
export async function wholeAnswer(reply: UpstreamReply, limit: number): Promise<WholeAnswer> {
  const parts = [reply.head];
  let length = reply.head.length;
  for await (const part of reply.rest ?? []) {
    length += part.length;
    if (length > limit) {
      reply.discard();
      throw new GatewayError('response-too-large', `The reply of the upstream has more than ${limit} bytes.`);
    }
    parts.push(part);
  }
  return { status: reply.status, body: Buffer.concat(parts) };
}
