import { GatewayError } from '#base/gateway-error.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Stage } from './stage.ts';

/** One way to read the body of a reply: stages, one after the other. */
interface Staged {
  readonly stages: readonly Stage[];
}

/** The body as the stages of `chosen` give it. */
interface StagedBody<C> {
  readonly chosen: C;
  /** All of it where `rest` is undefined. */
  readonly head: Buffer;
  /**
   * Throws `upstream-protocol-error` where the reply does not continue as it began, and as the reply itself does. A chunk is valid until
   * the next one is requested.
   */
  readonly rest: AsyncIterable<Buffer> | undefined;
}

/**
 * Reads a body in the first way that accepts its head (all of a reply up to 64 KiB). A candidate is undefined where the reply's own
 * headers exclude it. The last candidate must accept any reply.
 */
export function stagedBody<C extends Staged>(reply: FarSideReply, candidates: readonly (() => C | undefined)[]): StagedBody<C> {
  for (const candidate of candidates) {
    const staged = attempt(reply, candidate);
    if (staged !== undefined) return staged;
  }
  throw new Error('no way to read the reply accepts it');
}

function attempt<C extends Staged>(reply: FarSideReply, candidate: () => C | undefined): StagedBody<C> | undefined {
  try {
    const chosen = candidate();
    if (chosen === undefined) return undefined;
    const first = pushAll(chosen.stages, reply.head);
    if (reply.rest !== undefined) return { chosen, head: first, rest: stagedRest(reply.rest, chosen.stages) };
    return { chosen, head: joined([first, endAll(chosen.stages)]), rest: undefined };
  } catch (fault) {
    if (fault instanceof GatewayError) throw fault;
    return undefined;
  }
}

async function* stagedRest(rest: AsyncIterable<Buffer>, stages: readonly Stage[]): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of rest) {
    const out = orLateFault(() => pushAll(stages, chunk));
    if (out.length > 0) yield out;
  }
  const last = orLateFault(() => endAll(stages));
  if (last.length > 0) yield last;
}

function orLateFault(work: () => Buffer): Buffer {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof GatewayError) throw fault;
    const detail = 'The reply of the far side does not continue as its headers and its first bytes say.';
    throw new GatewayError('upstream-protocol-error', detail, { cause: fault });
  }
}

function pushAll(stages: readonly Stage[], chunk: Buffer): Buffer {
  let out = chunk;
  for (const stage of stages) out = stage.push(out);
  return out;
}

function endAll(stages: readonly Stage[]): Buffer {
  let out = nothing;
  for (const stage of stages) out = joined([out.length === 0 ? out : stage.push(out), stage.end()]);
  return out;
}

const nothing: Buffer = Buffer.alloc(0);

/** Like Buffer.concat, but without a copy where at most one part has bytes. */
function joined(parts: readonly Buffer[]): Buffer {
  const full = parts.filter(({ length }) => length > 0);
  return full.length > 1 ? Buffer.concat(full) : (full[0] ?? nothing);
}
