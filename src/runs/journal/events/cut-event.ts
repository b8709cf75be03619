import { cutText } from '#base/text/cut-text.ts';
import { parseExact } from '#json/parse-json.ts';

/** Bytes of the data of an event in streams and webhooks. */
const maxDataSize = 65_536;
/** Bytes of an event, with its attributes, that is surely short enough. */
export const surelyShort = maxDataSize;
/** Longer ones lose their data whole: to read it would hold up the gateway. */
const maxReadSize = 1024 ** 2;
/** Bytes of a member of the data that is kept as it is. */
const shortMember = 4_096;

interface WholeEvent {
  /** A CloudEvent as JSON text. */
  readonly event: string;
  readonly run?: string | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * The event as streams and webhooks have it: its data has at most 64 KiB. Of longer data, texts are cut and long members are left out;
 * `truncated` says so, and `href` names the run or the approval.
 */
export function cutEvent({ event, run }: WholeEvent): string {
  if (event.length * 3 <= surelyShort || Buffer.byteLength(event) <= surelyShort) return event;
  const { data, data_base64: bytes, ...attributes } = parseExact(event) as Members;
  const size = JSON.stringify(bytes ?? data ?? null);
  if (Buffer.byteLength(size) <= maxDataSize) return event;
  const href = hrefOf(attributes, run);
  const kept = event.length > maxReadSize ? {} : shortMembers(data);
  return JSON.stringify({ ...attributes, data: { ...kept, truncated: true, ...(href !== undefined && { href }) } });
}

function hrefOf({ source }: Members, run: string | undefined): string | undefined {
  if (typeof source === 'string' && source.startsWith('/approvals/')) return source;
  return run === undefined ? undefined : `/runs/${run}`;
}

function shortMembers(data: unknown): Members {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return {};
  const kept: [string, unknown][] = [];
  let left = maxDataSize - 1_024;
  for (const [name, value] of Object.entries(data)) {
    const shown = typeof value === 'string' ? cutText(value, shortMember) : value;
    const size = Buffer.byteLength(JSON.stringify([name, shown]));
    if (size > 2 * shortMember || size > left) continue;
    left -= size;
    kept.push([name, shown]);
  }
  return Object.fromEntries(kept);
}
