import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { isTextual, type MediaType, readMediaType } from './media-type.ts';
import { asciiStage, charsetStage, type Stage, utf8Stage } from './stage.ts';

/** Of several the last (Fetch standard, "extract a MIME type"). */
export function mediaTypeOf({ headers }: UpstreamReply): MediaType | undefined {
  const given = headers['content-type'];
  const value = (typeof given === 'string' ? given : given?.at(-1)) ?? '';
  return value === '' ? undefined : (readMediaType(value) ?? { essence: 'application/octet-stream' });
}

/** Undefined: the media type requires base64. */
export function textStage(reply: UpstreamReply): (() => Stage) | undefined {
  // Without a body: empty text, with any media type.
  if (reply.head.length === 0) return utf8Stage;
  const type = mediaTypeOf(reply);
  if (type !== undefined && !isTextual(type)) return undefined;
  const charset = type?.charset ?? 'utf-8';
  if (charset === 'utf-8' || charset === 'utf8') return utf8Stage;
  return asciiNames.has(charset) ? asciiStage : () => charsetStage(charset);
}

/** The Encoding standard reads them as windows-1252, where any byte is a character. */
const asciiNames: ReadonlySet<string> = new Set(['us-ascii', 'ascii', 'ansi_x3.4-1968']);

/** Bytes of `upstream.body`. */
const limit = 65_536;

/** The first 64 KiB, by charset or as base64; at most 64 KiB of either. */
export function readableBody(reply: UpstreamReply): { readonly text: string; readonly base64: boolean } {
  const text = decode(reply);
  if (text !== undefined) return { text: truncate(text), base64: false };
  return { text: reply.head.subarray(0, (limit / 4) * 3).toString('base64'), base64: true };
}

function decode(reply: UpstreamReply): Buffer | undefined {
  const stage = textStage(reply)?.();
  try {
    if (stage === undefined) return undefined;
    const bytes = stage.push(reply.head);
    return reply.rest === undefined ? Buffer.concat([bytes, stage.end()]) : bytes;
  } catch {
    return undefined;
  }
}

/** Does not split a character (continuation bytes are 10xxxxxx). */
function truncate(bytes: Buffer): string {
  let end = Math.min(limit, bytes.length);
  while (end < bytes.length && end > limit - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** Of the first 64 KiB; empty for other than text. */
export function beginningOf(reply: UpstreamReply): string {
  return decode(reply)?.toString('utf8') ?? '';
}
