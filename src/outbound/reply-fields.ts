/** Header fields of a reply. Names are in lower case; the values of a repeated field are an array. */
export type Fields = Record<string, string | string[]>;

/** A token (RFC 9110 5.6.2), for use in patterns. */
export const token = "[!#$%&'*+.^_`|~\\w-]+";

/** Matches exactly a field name (RFC 9110 5.1). */
export const fieldName = new RegExp(`^${token}$`, 'u');

/** Reads the field lines of a head from `from` on. Undefined where a line is invalid: white space before the colon, or folded (RFC 9112 5). */
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

/** Adds the field of a line that goes from `from` to `to`. Returns false where the line is no field. */
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

/** Whether the connection ends with the reply (RFC 9112 9.3). `current` means HTTP/1.1, where a connection stays open by default. */
export function endsConnection({ connection }: Fields, current: boolean): boolean {
  if (connection === undefined) return !current;
  if (connection === 'keep-alive') return false;
  const options = String(connection)
    .toLowerCase()
    .split(',')
    .map((option) => option.trim());
  return options.includes('close') || !(current || options.includes('keep-alive'));
}

/** Milliseconds of the timeout in the header Keep-Alive; undefined without one. */
export function keptFor(fields: Fields): number | undefined {
  const hint = fields['keep-alive'];
  const seconds = hint === undefined ? undefined : /timeout=(\d{1,9})/iu.exec(String(hint))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
