import { GatewayError } from '#base/gateway-error.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { isTextual, type MediaType, readMediaType } from './media-type.ts';
import { asciiStage, base64Stage, charsetStage, type Stage, utf8Stage } from './stage.ts';

/** The gateway's reply: JSON in UTF-8. Where `rest` is undefined, `head` is the whole body and is written at once. */
export interface RelayReply {
  readonly kind: 'relayed';
  /** 200 where absent. */
  readonly status?: number;
  /** `application/json; charset=utf-8` where absent. */
  readonly mediaType?: string | undefined;
  /** Name, value, name, value …; without Content-Type and Content-Length. */
  readonly headers: readonly string[];
  readonly head: Buffer;
  /**
   * Throws where the far side's reply has a fault: the gateway's reply is then aborted, never completed. A chunk is valid until the
   * next one is requested.
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

/** Makes a rendering; undefined where the reply's own headers exclude it. */
export type Candidate = () => Rendering | undefined;

/**
 * Writes a reply by the first rendering that accepts its head (all of a reply up to 64 KiB). `rest` throws where a fault shows later. The
 * last candidate must accept any reply.
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
  throw new Error('no rendering accepts the reply');
}

/** Renders a reply, or discards it where that fails: otherwise its connection would stay open, unread. */
export function renderOrDiscard(reply: FarSideReply, render: (reply: FarSideReply) => RelayReply): RelayReply {
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
    parts.push(endAll(rendering.stages), bytesOf(rendering.after));
    return { kind: 'relayed', headers, head: Buffer.concat(parts), rest: undefined };
  } catch (fault) {
    if (!isFaultOfReply(fault)) throw fault;
    return undefined;
  }
}

/** False for failures of the gateway itself, which say nothing about the reply. */
function isFaultOfReply(fault: unknown): boolean {
  return !(fault instanceof GatewayError);
}

async function* renderRest(rest: AsyncIterable<Buffer>, rendering: Rendering): AsyncGenerator<Buffer, void, undefined> {
  const { stages, after } = rendering;
  for await (const chunk of rest) {
    const out = orLateFault(() => pushAll(stages, chunk));
    if (out.length > 0) yield out;
  }
  yield Buffer.concat([orLateFault(() => endAll(stages)), Buffer.from(after)]);
}

/** Throws `upstream-protocol-error` where `work` fails because the reply does not continue as it began. */
function orLateFault(work: () => Buffer): Buffer {
  try {
    return work();
  } catch (fault) {
    if (!isFaultOfReply(fault)) throw fault;
    const detail = 'The reply of the far side does not continue as its headers and its first bytes say.';
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

/** Like Buffer.concat, but without a copy where at most one part has bytes. */
function joined(parts: readonly Buffer[]): Buffer {
  const full = parts.filter(({ length }) => length > 0);
  return full.length > 1 ? Buffer.concat(full) : (full[0] ?? nothing);
}

/** The media type of a reply; of several types the last (Fetch standard, "extract a MIME type"). Undefined where it has none. */
export function mediaTypeOf({ headers }: FarSideReply): MediaType | undefined {
  const given = headers['content-type'];
  const value = (typeof given === 'string' ? given : given?.at(-1)) ?? '';
  return value === '' ? undefined : (readMediaType(value) ?? { essence: 'application/octet-stream' });
}

/** Makes the stage that checks and decodes a textual body; undefined where the media type of the body requires base64. */
export function textStage(reply: FarSideReply): (() => Stage) | undefined {
  // A reply without a body is the empty text, with any media type.
  if (reply.head.length === 0) return utf8Stage;
  const type = mediaTypeOf(reply);
  if (type !== undefined && !isTextual(type)) return undefined;
  const charset = type?.charset ?? 'utf-8';
  if (charset === 'utf-8' || charset === 'utf8') return utf8Stage;
  return asciiNames.has(charset) ? asciiStage : () => charsetStage(charset);
}

/** The Encoding standard decodes these as windows-1252, in which any byte is a character. */
const asciiNames: ReadonlySet<string> = new Set(['us-ascii', 'ascii', 'ansi_x3.4-1968']);

/** Renders text by its charset, or else as base64; `quote` writes the JSON around it. */
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

/** The X-Upstream-* headers (name, value, name, value …). The far side's own headers are never the gateway's. */
export function upstreamHeaders(reply: FarSideReply, base64 = false): string[] {
  const headers = ['X-Upstream-Status', String(reply.status)];
  for (const [name, source] of namedHeaders) {
    const value = headerValue(reply.headers, source);
    if (value !== undefined) headers.push(name, value);
  }
  if (base64) headers.push('X-Upstream-Body-Encoding', 'base64');
  return headers;
}

/** Converts name, value, name, value … into an object. */
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

/** The far side's headers as the JSON text of an object: names in lower case, repeated headers joined, `set-cookie` always an array. */
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
