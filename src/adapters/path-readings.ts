/** The resource that a path names, without its query string. */
export function beforeQuery(path: string): string {
  const at = path.indexOf('?');
  return at < 0 ? path : path.slice(0, at);
}

/** Percent-encoding is undone this many times over; what is wrapped deeper has no honest use. */
const mostRounds = 5;
/** Characters of all readings of a path together: what can be read in so many ways is made to keep its judge busy. */
const mostCharacters = 16_384;

/** `%XX`, and `%u00XX` as some servers of old know it. */
const encodedByte = /%(?:u00)?([0-9a-f]{2})/giu;

/** UTF-8 that takes more bytes than it needs for an ASCII character, which no decoder may take and some do (RFC 3629 3, 10). */
const overlong = /(?:[\xc0\xc1]|\xe0[\x80\x81]|\xf0\x80[\x80\x81])[\x80-\xbf]/gu;

/**
 * Each text that a far side could read the path as, undoing percent-encoding up to five times over: the path as written, then one
 * a round. Bytes are characters U+0000 to U+00FF.
 */
export function percentDecodings(path: string): readonly string[] {
  const readings = [path];
  for (let round = 0; round < mostRounds; round += 1) {
    const last = readings.at(-1) ?? '';
    const decoded = decodedOnce(last);
    if (decoded === last) break;
    readings.push(decoded);
  }
  return readings;
}

function decodedOnce(text: string): string {
  if (!text.includes('%')) return text;
  return text
    .replaceAll(encodedByte, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(overlong, (bytes) =>
      String.fromCharCode(((bytes.at(-2)?.charCodeAt(0) ?? 0) & 3) * 64 + (bytes.charCodeAt(bytes.length - 1) & 63)),
    );
}

/** Nothing in it that any of the steps below would change: most paths are such. */
const readInOneWay = /^[\w\-.~/:@!$&'()*+,=]*$/u;

/**
 * The resources that servers could take a path for, as segments joined by `/`: after each round of decoding, also with `;parameters`
 * left out (RFC 3986 3.3), ended at a decoded `?`, `#` or NUL, without NUL, with backslashes as slashes and as UTF-8; always without empty and `.`
 * segments. Undefined where the path is encoded more often, or can be read in more ways, than is followed.
 */
export function pathReadings(path: string): readonly string[] | undefined {
  if (readInOneWay.test(path)) return [withoutIdleSegments(path)];
  const decodings = percentDecodings(path);
  const last = decodings.at(-1) ?? '';
  if (decodings.length > mostRounds && decodedOnce(last) !== last) return undefined;
  let readings = distinct([path, ...decodedTexts(path, mostRounds).flatMap((reading) => [reading, asUtf8(reading)])]);
  for (const step of [endedEarly, withoutNul, withoutParameters, withSlashes, withoutIdleSegments]) {
    if (charactersOf(readings) > mostCharacters) return undefined;
    const changed = readings.map(step);
    readings = step === withoutIdleSegments ? distinct(changed) : distinct([...readings, ...changed]);
  }
  return readings;
}

function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/**
 * What is left of a text after each round of decoding, with `;parameters` taken away before a round as well: a slash that was
 * encoded in a parameter would end it after the round.
 */
function decodedTexts(text: string, rounds: number): readonly string[] {
  const next = distinct([text, withoutParameters(text)].map(decodedOnce)).filter((decoded) => decoded !== text);
  return rounds === 0 ? [] : distinct(next.flatMap((decoded) => [decoded, ...decodedTexts(decoded, rounds - 1)]));
}

/** A segment that changes nothing: an empty one or `.`. */
const idleSegment = /(?:^|\/)\.?(?:\/|$)/u;

/** The path or glob without segments that change nothing: most have none. */
export function withoutIdleSegments(path: string): string {
  if (!idleSegment.test(path)) return path;
  return path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/');
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

function asUtf8(bytes: string): string {
  return /[\x80-\xff]/u.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}

function endedEarly(path: string): string {
  // oxlint-disable-next-line no-control-regex -- the end of a text in C is what is looked for
  return path.split(/[?#\0]/u, 1)[0] ?? '';
}

function withoutNul(path: string): string {
  return path.replaceAll('\0', '');
}

function withSlashes(path: string): string {
  return path.replaceAll('\\', '/');
}

function withoutParameters(path: string): string {
  return path.replaceAll(/;[^/]*/gu, '');
}
