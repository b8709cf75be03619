export function beforeQuery(path: string): string {
  const at = path.indexOf('?');
  return at < 0 ? path : path.slice(0, at);
}

/** No legitimate path is encoded more often. */
const maxRounds = 5;
/** Of all readings of a path. More is an attempt to keep the gateway busy. */
const maxCharacters = 16_384;

/** `%u00XX`: some old servers. */
const encodedByte = /%(?:u00)?([0-9a-f]{2})/giu;

/** Of ASCII characters. Some decoders accept it (RFC 3629, sections 3 and 10). */
const overlong = /(?:[\xc0\xc1]|\xe0[\x80\x81]|\xf0\x80[\x80\x81])[\x80-\xbf]/gu;

/** The path, then the result of each round, up to five. A byte is a character up to U+00FF. */
export function percentDecodings(path: string): readonly string[] {
  const readings = [path];
  for (let round = 0; round < maxRounds; round += 1) {
    const last = readings.at(-1) ?? '';
    const decoded = decodeOnce(last);
    if (decoded === last) break;
    readings.push(decoded);
  }
  return readings;
}

function decodeOnce(text: string): string {
  if (!text.includes('%')) return text;
  return text
    .replaceAll(encodedByte, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(overlong, (bytes) =>
      String.fromCharCode(((bytes.at(-2)?.charCodeAt(0) ?? 0) & 3) * 64 + (bytes.charCodeAt(bytes.length - 1) & 63)),
    );
}

/** No step below changes it, as most paths. */
const readInOneWay = /^[\w\-.~/:@!$&'()*+,=]*$/u;

/**
 * As servers may read a path, by segments without idle ones, after each round of decoding. Also without `;parameters` (RFC 3986, 3.3),
 * up to a decoded `?`, `#` or NUL, without NUL, with backslashes as slashes, and as UTF-8. Undefined beyond the limits.
 * A server's rules of its own, such as for dots at an end, are not covered.
 */
export function pathReadings(path: string): readonly string[] | undefined {
  if (readInOneWay.test(path)) return [withoutIdleSegments(path)];
  const decodings = percentDecodings(path);
  const last = decodings.at(-1) ?? '';
  if (decodings.length > maxRounds && decodeOnce(last) !== last) return undefined;
  let readings = distinct([path, ...decodeInRounds(path, maxRounds).flatMap((reading) => [reading, asUtf8(reading)])]);
  for (const step of [withoutEnd, withoutNul, withoutParameters, withSlashes, withoutIdleSegments]) {
    if (charactersOf(readings) > maxCharacters) return undefined;
    const changed = readings.map(step);
    readings = step === withoutIdleSegments ? distinct(changed) : distinct([...readings, ...changed]);
  }
  return readings;
}

function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** Also without `;parameters` before a round: afterwards an encoded slash in one would end it. */
function decodeInRounds(text: string, rounds: number): readonly string[] {
  const next = distinct([text, withoutParameters(text)].map(decodeOnce)).filter((decoded) => decoded !== text);
  return rounds === 0 ? [] : distinct(next.flatMap((decoded) => [decoded, ...decodeInRounds(decoded, rounds - 1)]));
}

/** An empty one, or `.`. */
const idleSegment = /(?:^|\/)\.?(?:\/|$)/u;

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

function withoutEnd(path: string): string {
  // oxlint-disable-next-line no-control-regex -- NUL ends a string in C
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
