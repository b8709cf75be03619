/** The path without its query string. */
export function beforeQuery(path: string): string {
  const at = path.indexOf('?');
  return at < 0 ? path : path.slice(0, at);
}

/** Percent-encoding is decoded at most this many times; no legitimate path is encoded more often. */
const mostRounds = 5;
/** Characters of all readings of one path. A path with more is an attempt to keep the gateway busy. */
const mostCharacters = 16_384;

/** `%XX`, and `%u00XX` of some old servers. */
const encodedByte = /%(?:u00)?([0-9a-f]{2})/giu;

/** Overlong UTF-8 of ASCII characters. Decoders must refuse it, but some accept it (RFC 3629, sections 3 and 10). */
const overlong = /(?:[\xc0\xc1]|\xe0[\x80\x81]|\xf0\x80[\x80\x81])[\x80-\xbf]/gu;

/**
 * The texts that a far side could get by percent-decoding the path. The first is the path as written; each further one is the result of a
 * round of percent-decoding, up to five. Each byte is a character from U+0000 to U+00FF.
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

/** Matches a path that none of the steps below would change. Most paths match. */
const readInOneWay = /^[\w\-.~/:@!$&'()*+,=]*$/u;

/**
 * The resources that servers could read a path as by the rules below, each as segments joined by `/`. A server with rules of its own,
 * such as for dots and blanks at the end of a name, may read it as another one. There is a reading for each round of decoding.
 * Further readings drop `;parameters` (RFC 3986, section 3.3), end at a decoded `?`, `#` or NUL, drop NUL, turn backslashes into
 * slashes, or decode UTF-8. No reading has empty or `.` segments. Undefined if the path is encoded more often, or has more
 * readings, than the limits allow.
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
 * The texts after each round of decoding. Another variant drops `;parameters` before the round, because after it an encoded slash
 * in a parameter would end the parameter.
 */
function decodedTexts(text: string, rounds: number): readonly string[] {
  const next = distinct([text, withoutParameters(text)].map(decodedOnce)).filter((decoded) => decoded !== text);
  return rounds === 0 ? [] : distinct(next.flatMap((decoded) => [decoded, ...decodedTexts(decoded, rounds - 1)]));
}

/** An idle segment changes nothing in a path: an empty one, or `.`. */
const idleSegment = /(?:^|\/)\.?(?:\/|$)/u;

/** The path or glob without idle segments. Most have none. */
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
