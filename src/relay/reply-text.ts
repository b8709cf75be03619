import type { FarSideReply } from '#outbound/outbound-call.ts';
import { isTextual, type MediaType, readMediaType } from './media-type.ts';
import { asciiStage, charsetStage, type Stage, utf8Stage } from './stage.ts';

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
