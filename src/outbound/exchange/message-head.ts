import type { OutboundCall } from '../call/outbound-call.ts';

/** In lower case; a repeated field has an array. */
export type Fields = Record<string, string | string[]>;

/** RFC 9110 5.6.2, for patterns. */
export const token = "[!#$%&'*+.^_`|~\\w-]+";

/** RFC 9110 5.1. */
const fieldName = new RegExp(`^${token}$`, 'u');

/** Undefined for an invalid line: white space before the colon, or folded (RFC 9112 5). */
export function readFields(head: string, from: number): Fields | undefined {
  const fields: Fields = {};
  for (let at = from; at < head.length; ) {
    const next = head.indexOf('\r\n', at);
    const end = next < 0 ? head.length : next;
    if (!addField(fields, head, at, end)) return undefined;
    at = end + 2;
  }
  return fields;
}

/** False: the line is no field. */
export function addField(fields: Fields, text: string, from: number, to: number): boolean {
  const colon = text.indexOf(':', from);
  if (colon < 0 || colon > to) return false;
  const name = text.slice(from, colon).toLowerCase();
  if (!fieldName.test(name)) return false;
  let [start, end] = [colon + 1, to];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  add(fields, name, text.slice(start, end));
  return true;
}

function add(fields: Fields, name: string, value: string): void {
  const before = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (Array.isArray(before)) before.push(value);
  else if (before !== undefined) fields[name] = [before, value];
  // An assignment would set the object's prototype.
  else if (name === '__proto__')
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
  else fields[name] = value;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

/** RFC 9112 9.3. `current`: HTTP/1.1, open by default. */
export function endsConnection({ connection }: Fields, current: boolean): boolean {
  if (connection === undefined) return !current;
  if (connection === 'keep-alive') return false;
  const options = String(connection)
    .toLowerCase()
    .split(',')
    .map((option) => option.trim());
  return options.includes('close') || !(current || options.includes('keep-alive'));
}

/** Milliseconds of Keep-Alive. */
export function keptFor(fields: Fields): number | undefined {
  const hint = fields['keep-alive'];
  const seconds = hint === undefined ? undefined : /timeout=(\d{1,9})/iu.exec(String(hint))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

const unsendablePath = /[^!-~]/u;
const unsendableValue = /[^\t -~\x80-\xff]/u;

/** RFC 9112 3 and 5, as latin-1. Undefined where path or header holds a byte that an upstream could read as framing. */
export function requestHead({ method, origin, path, body }: OutboundCall, headers: readonly string[]): string | undefined {
  if (!path.startsWith('/') || unsendablePath.test(path)) return undefined;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.slice(origin.indexOf('//') + 2)}\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const [name, value] = [headers[at] as string, headers[at + 1] as string];
    if (!fieldName.test(name) || unsendableValue.test(value)) return undefined;
    head += `${name}: ${value}\r\n`;
  }
  const length = body?.length ?? 0;
  return length > 0 || takesBody(method) ? `${head}content-length: ${length}\r\n\r\n` : `${head}\r\n`;
}

/** Elsewhere upstreams may read a body as the next request (RFC 9110 9.3). */
export function takesBody(method: OutboundCall['method']): boolean {
  return method !== 'GET' && method !== 'DELETE';
}
