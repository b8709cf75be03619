/** Header fields of a reply: names in lower case, what comes again as an array. */
export type Fields = Record<string, string | string[]>;

/** A token (RFC 9110 5.6.2), as a part of patterns. */
export const token = "[!#$%&'*+.^_`|~\\w-]+";

/** A name (RFC 9110 5.1), and nothing else. */
export const fieldName = new RegExp(`^${token}$`, 'u');

/** The lines of a head from `from` on; undefined where one of them is none (RFC 9112 5: no white space before the colon, nothing folded). */
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

/** Adds the field that a line between two places of a text is; false where it is none. */
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
  // Assigned, it would be the object's prototype.
  else if (name === '__proto__')
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
  else fields[name] = value;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

/** Whether the connection ends with the reply (RFC 9112 9.3); `current`: HTTP/1.1, where it stays unless something is said. */
export function endsConnection({ connection }: Fields, current: boolean): boolean {
  if (connection === undefined) return !current;
  if (connection === 'keep-alive') return false;
  const options = String(connection)
    .toLowerCase()
    .split(',')
    .map((option) => option.trim());
  return options.includes('close') || !(current || options.includes('keep-alive'));
}

/** Milliseconds by the header Keep-Alive, where it names a timeout. */
export function keptFor(fields: Fields): number | undefined {
  const hint = fields['keep-alive'];
  const seconds = hint === undefined ? undefined : /timeout=(\d{1,9})/iu.exec(String(hint))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
