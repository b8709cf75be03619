import { GatewayError } from '#base/gateway-error.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { isTextual, type MediaType, readMediaType } from './media-type.ts';
import { asciiStage, base64Stage, charsetStage, type Stage, utf8Stage } from './stage.ts';

/** The gateway's answer: JSON in UTF-8. Where `rest` is undefined, `head` is the whole of it and goes out in one write. */
export interface RelayReply {
  readonly kind: 'relayed';
  /** 200 where absent. */
  readonly status?: number;
  /** `application/json; charset=utf-8` where absent. */
  readonly mediaType?: string | undefined;
  /** Names and values in turn, those of the content left out. */
  readonly headers: readonly string[];
  readonly head: Buffer;
  /**
   * Throws where the reply turns out to be faulty: the connection is then broken off, never completed. A chunk keeps its bytes
   * until the next one is asked for.
   */
  readonly rest: AsyncIterable<Buffer> | undefined;
}

/** One way to write a far side's body into the gateway's JSON. */
export interface Rendering {
  readonly before: string;
  readonly stages: readonly Stage[];
  readonly after: string;
  readonly base64?: true;
}

/** Undefined where the reply says of itself that it is nothing for this rendering. */
export type Candidate = () => Rendering | undefined;

/**
 * Writes a reply by the first rendering that takes its head (the whole of it up to 64 KiB). A fault that only shows later
 * throws out of `rest`. The last candidate must take anything.
 */
export function renderReply(
  reply: FarSideReply,
  candidates: readonly Candidate[],
  extraHeaders: readonly string[] = [],
): RelayReply {
  for (const candidate of candidates) {
    const rendered = tryRendering(reply, candidate);
    if (rendered !== undefined) {
      rendered.headers.push(...extraHeaders);
      return rendered;
    }
  }
  throw new Error('no rendering took the reply');
}

/** A reply that cannot be rendered is let go: nobody would read it, and its connection would stay open. */
export function renderedOrLetGo(reply: FarSideReply, render: (reply: FarSideReply) => RelayReply): RelayReply {
  try {
    return render(reply);
  } catch (failure) {
    reply.discard();
    throw failure;
  }
}

function tryRendering(reply: FarSideReply, candidate: Candidate): (RelayReply & { readonly headers: string[] }) | undefined {
  try {
    const rendering = candidate();
    if (rendering === undefined) return undefined;
    const headers = upstreamHeaders(reply, rendering.base64 === true);
    const first = pushAll(rendering.stages, reply.head);
    const parts = [bytesOf(rendering.before), first];
    if (reply.rest !== undefined)
      return { kind: 'relayed', headers, head: Buffer.concat(parts), rest: renderRest(reply.rest, rendering) };
    // A copy, always: what a stage gave is written over by the next reply, and this one goes out at the end of the turn.
    parts.push(endAll(rendering.stages), bytesOf(rendering.after));
    return { kind: 'relayed', headers, head: Buffer.concat(parts), rest: undefined };
  } catch (fault) {
    if (!speaksOfTheReply(fault)) throw fault;
    return undefined;
  }
}

/** The gateway's own trouble says nothing of the reply. */
function speaksOfTheReply(fault: unknown): boolean {
  return !(fault instanceof GatewayError) && !(fault instanceof WebAssembly.RuntimeError);
}

async function* renderRest(rest: AsyncIterable<Buffer>, rendering: Rendering): AsyncGenerator<Buffer, void, undefined> {
  const { stages, after } = rendering;
  for await (const chunk of rest) {
    const out = orLateFault(() => pushAll(stages, chunk));
    if (out.length > 0) yield out;
  }
  yield Buffer.concat([orLateFault(() => endAll(stages)), Buffer.from(after)]);
}

/** Does what only fails where the reply is not what its beginning was taken for. */
function orLateFault(work: () => Buffer): Buffer {
  try {
    return work();
  } catch (fault) {
    if (!speaksOfTheReply(fault)) throw fault;
    const detail = 'The reply of the far side does not go on as what it says it is and began as.';
    throw new GatewayError('upstream-protocol-error', detail, { cause: fault });
  }
}

function bytesOf(text: string): Buffer {
  return text === '' ? nothing : Buffer.from(text);
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

/** As Buffer.concat, without a copy where one part at most is all there is. */
function joined(parts: readonly Buffer[]): Buffer {
  const full = parts.filter(({ length }) => length > 0);
  return full.length > 1 ? Buffer.concat(full) : (full[0] ?? nothing);
}

/** What the reply says of its body, of several types the last (Fetch standard, "extract a MIME type"); undefined where it names none. */
export function mediaTypeOf({ headers }: FarSideReply): MediaType | undefined {
  const given = headers['content-type'];
  const value = (typeof given === 'string' ? given : given?.at(-1)) ?? '';
  return value === '' ? undefined : (readMediaType(value) ?? { essence: 'application/octet-stream' });
}

/** Makes the stage that checks and decodes a textual body; undefined where the body goes as base64 by its type. */
export function textStage(reply: FarSideReply): (() => Stage) | undefined {
  // No body is the empty text, whatever its type.
  if (reply.head.length === 0) return utf8Stage;
  const type = mediaTypeOf(reply);
  if (type !== undefined && !isTextual(type)) return undefined;
  const charset = type?.charset ?? 'utf-8';
  if (charset === 'utf-8' || charset === 'utf8') return utf8Stage;
  return asciiNames.has(charset) ? asciiStage : () => charsetStage(charset);
}

/** The Encoding standard takes these for windows-1252, in which any byte is a character. */
const asciiNames: ReadonlySet<string> = new Set(['us-ascii', 'ascii', 'ansi_x3.4-1968']);

/** Text by its charset where it is text, base64 where not; `quote` writes the JSON around it. */
export function textRenderings(
  reply: FarSideReply,
  quote: (base64: boolean) => { readonly before: string; readonly after: string },
  ...afterText: readonly (() => Stage)[]
): readonly Candidate[] {
  const asText = (): Rendering | undefined => {
    const text = textStage(reply);
    return text && { ...quote(false), stages: [text(), ...afterText.map((stage) => stage())] };
  };
  return [asText, () => ({ ...quote(true), stages: [base64Stage()], base64: true })];
}

/** What the gateway's reply names of the far side's, names and values in turn; the far side's own headers never become ours. */
export function upstreamHeaders(reply: FarSideReply, base64 = false): string[] {
  const headers = ['X-Upstream-Status', String(reply.status)];
  for (const [name, source] of namedHeaders) {
    const value = headerValue(reply.headers, source);
    if (value !== undefined) headers.push(name, value);
  }
  if (base64) headers.push('X-Upstream-Body-Encoding', 'base64');
  return headers;
}

/** Names and values in turn as an object, each name once. */
export function headersByName(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) found[headers[at] ?? ''] = headers[at + 1] ?? '';
  return found;
}

const namedHeaders = [
  ['X-Upstream-Content-Type', 'content-type'],
  ['X-Upstream-ETag', 'etag'],
  ['X-Upstream-Location', 'location'],
] as const;

/** The far side's headers as the JSON text of an object: names in lower case, repeated ones joined, `set-cookie` always an array. */
export function headersAsJson(reply: FarSideReply): string {
  const members = Object.entries(reply.headers).map(([name, value]) => {
    const shown = name === 'set-cookie' ? [value ?? []].flat() : headerValue(reply.headers, name);
    return `${JSON.stringify(name)}:${JSON.stringify(shown)}`;
  });
  return `{${members.join(',')}}`;
}

/** Text as the inside of a JSON string literal. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
