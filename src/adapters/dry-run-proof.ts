import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { untilAborted } from '#outbound/until-aborted.ts';
import type { AdapterKind } from './adapter-kind.ts';
import type { WholeAnswer } from './dry-runs.ts';
import type { AttemptResult } from './node-failure.ts';

/** Milliseconds for which a proof holds. Another server may come to the address of a node. */
const proofHolds = 60_000;
/** Milliseconds in which a node has to prove that it knows dry runs. */
const proofLimit = 10_000;
/** Bytes of a reply that is read for a proof. */
const longestProof = 4 * 1024 ** 2;

/** What one node has proven about dry runs. */
interface DryRunProof {
  /** Reads the proof where none holds. Rejects with `no-dry-run` where there is none, and as the reads do. */
  require(scope: CallScope): Promise<void>;
  /** The node may be another server from now on. */
  forget(): void;
}

/** Sends one GET to the node; `path` is relative to its base address. Never rejects. */
type SendRead = (path: string, accept: string, scope: CallScope) => Promise<AttemptResult>;

export function keepDryRunProof(options: {
  readonly kind: AdapterKind;
  readonly url: string;
  readonly clock: Clock;
  readonly send: SendRead;
}): DryRunProof {
  const { url, clock } = options;
  let provenAt: number | undefined;
  /** Counts what was forgotten: a reading that began before proves nothing for later. */
  let forgotten = 0;
  /** Previews at the same time share one reading. */
  let reading: Promise<string | undefined> | undefined;
  const read = async (): Promise<string | undefined> => {
    const [begun, before] = [clock.monotonic(), forgotten];
    const missing = await readProof(options);
    if (missing === undefined && before === forgotten) provenAt = begun;
    return missing;
  };
  return {
    async require(scope) {
      if (provenAt !== undefined && clock.monotonic() - provenAt < proofHolds) return;
      provenAt = undefined;
      reading ??= read().finally(() => (reading = undefined));
      const missing = await untilAborted(scope, reading);
      if (missing !== undefined) throw noDryRun(`No dry run was sent to ${new URL(url).host}: ${missing}.`);
    },
    forget() {
      forgotten += 1;
      provenAt = undefined;
    },
  };
}

/** The call has no dry run. `detail` is a sentence. */
export function noDryRun(detail: string): GatewayError {
  return new GatewayError('no-dry-run', detail);
}

async function readProof({ kind, clock, send }: Parameters<typeof keepDryRunProof>[0]): Promise<string | undefined> {
  if (kind.dryRuns === undefined) return `an adapter of kind ${kind.name} has no dry runs`;
  const scope = new CallScope({ total: proofLimit, clock });
  try {
    return await kind.dryRuns.prove(async (path, accept) => {
      const sent = await send(path, accept, scope);
      if ('failure' in sent) throw sent.failure;
      return await wholeAnswer(sent.reply, longestProof);
    });
  } finally {
    scope.end();
  }
}

/** Reads a reply to its end. Rejects with `response-too-large` beyond `limit` bytes. */
export async function wholeAnswer(reply: FarSideReply, limit: number): Promise<WholeAnswer> {
  const parts = [reply.head];
  let length = reply.head.length;
  for await (const part of reply.rest ?? []) {
    length += part.length;
    if (length > limit) {
      reply.discard();
      throw new GatewayError('response-too-large', `The reply of the far side has more than ${limit} bytes.`);
    }
    parts.push(part);
  }
  return { status: reply.status, body: Buffer.concat(parts) };
}
