export interface Spellings {
  /** What matches the spellings of those values that the text has. */
  foundIn(text: string): readonly RegExp[];
  /** The spellings of those values that a JSON text may have in its strings. Undefined where it has none of them. */
  within(jsonText: string): Spellings | undefined;
}

/**
 * The spellings in which upstreams echo values: as they are, in a JSON text, percent-encoded, in a form and in XML. Further ones are
 * hexadecimal digits, and base64 at any offset, also with line breaks. Letters count in any case where an encoding takes them so.
 */
export function createSpellings(values: readonly string[]): Spellings {
  return spellingsOf(values.map(spellingOf));
}

function spellingsOf(spelled: readonly Spelled[]): Spellings {
  return {
    foundIn(text) {
      const read = new Readings(text);
      return spelled.flatMap((one) => patternsIn(read, one));
    },
    within(jsonText) {
      const read = new Readings(jsonText.includes('\\') ? decodeJson(jsonText) : jsonText);
      const found = spelled.filter((one) => patternsIn(read, one).length > 0);
      return found.length === 0 ? undefined : spellingsOf(found);
    },
  };
}

function patternsIn(read: Readings, { value, inForm, encodings }: Spelled): readonly RegExp[] {
  const isThere = read.texts.some((text) => text.includes(value) || (inForm !== value && text.includes(inForm)));
  return [
    ...(isThere ? [escapedPattern(value)] : []),
    ...encodings.flatMap(({ needle, reading, pattern }) => (read[reading].includes(needle) ? [pattern] : [])),
  ];
}

interface Encoding {
  /** What the reading of a text has where the text has the value. */
  readonly needle: string;
  readonly reading: 'compact' | 'lower';
  readonly pattern: RegExp;
}

interface Spelled {
  readonly value: string;
  /** A server that decodes a form takes a plus for a blank. */
  readonly inForm: string;
  readonly encodings: readonly Encoding[];
}

/** Bytes: the base64 or the digits of a shorter value may be part of any others. */
const minCoded = 6;

function spellingOf(value: string): Spelled {
  const bytes = Buffer.from(value);
  const inForm = value.replaceAll('+', ' ');
  if (bytes.length < minCoded) return { value, inForm, encodings: [] };
  const cores = new Set([0, 1, 2].flatMap((before) => base64At(bytes, before)));
  const hex = bytes.toString('hex');
  const encodings = [...cores].map((core): Encoding => ({ needle: core, reading: 'compact', pattern: base64Pattern(core) }));
  const pairs = hex.match(/../gu) ?? [];
  const pattern = hexPattern(hex);
  const inHex = ['', ':', ' ', '-'].map((separator): Encoding => ({ needle: pairs.join(separator), reading: 'lower', pattern }));
  return { value, inForm, encodings: [...encodings, ...inHex] };
}

/** The characters of base64 that neighbours change are left out. */
function base64At(bytes: Buffer, before: number): readonly string[] {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/u, '');
  const whole = Math.floor(((before + bytes.length) * 8) / 6);
  const core = text.slice(Math.ceil((before * 8) / 6), whole);
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
}

/** A text decoded in several ways, so that a value is found without a pattern. */
class Readings {
  readonly percent: string;
  readonly texts: readonly string[];
  #compact: string | undefined;
  #lower: string | undefined;

  constructor(text: string) {
    this.percent = decodePercent(text);
    const asForm = this.percent.includes('+') ? this.percent.replaceAll('+', ' ') : this.percent;
    this.texts = [...new Set([text, this.percent, asForm, decodeXml(text), ...jsonReadings(text)])];
  }

  get compact(): string {
    return (this.#compact ??= this.percent.replaceAll(breaks, ''));
  }

  get lower(): string {
    return (this.#lower ??= this.percent.toLowerCase());
  }
}

const breaks = /(?:[\r\n\t]|\\[rnt]) */gu;

function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  return text.replaceAll(/(?:%[0-9a-f]{2})+/giu, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
}

const xmlNames: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(\d{1,10})|#[xX]([0-9a-fA-F]{1,10})|([a-z]{2,4}));/gu, (written, decimal, hex, name) => {
    if (name !== undefined) return xmlNames[String(name)] ?? written;
    const point = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : written;
  });
}

/** A JSON text may be in a string of another one. */
function jsonReadings(text: string): readonly string[] {
  const once = decodeJson(text);
  const twice = decodeJson(once);
  return [once, twice, decodeJson(twice)];
}

const jsonEscapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function decodeJson(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/gu, (_written, hex, short) =>
    hex === undefined ? (jsonEscapes[String(short)] ?? String(short)) : String.fromCharCode(Number.parseInt(String(hex), 16)),
  );
}

const patterns = new Map<string, RegExp>();
/** Patterns that are remembered; a reload brings new values. */
const maxPatterns = 1_000;

/** Matches the value with each of its characters as it is or escaped. */
function escapedPattern(value: string): RegExp {
  let pattern = patterns.get(value);
  if (pattern === undefined) {
    if (patterns.size >= maxPatterns) patterns.clear();
    pattern = new RegExp(Array.from(value, escapedCharacter).join(''), 'gu');
    patterns.set(value, pattern);
  }
  return pattern;
}

function escapedCharacter(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const name = Object.keys(xmlNames).find((each) => xmlNames[each] === character);
  const short =
    Object.keys(jsonEscapes).find((each) => jsonEscapes[each] === character) ?? ('"\\/'.includes(character) && character);
  const alternatives = [
    RegExp.escape(character),
    Array.from(Buffer.from(character), (byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`).join(''),
    units.map((unit) => `\\\\+u${anyCase(unit.toString(16).padStart(4, '0'))}`).join(''),
    `&#(?:0{0,8}${point}|[xX]0{0,8}${anyCase(point.toString(16))});`,
    // A JSON text may be in a string of another one, which doubles its backslashes.
    ...(short === '\\' ? ['\\\\{2}', '\\\\{4}', '\\\\{8}'] : short ? [`\\\\+${RegExp.escape(short)}`] : []),
    ...(name === undefined ? [] : [`&${name};`]),
    ...(character === ' ' ? ['\\+'] : character === '+' ? [' '] : []),
  ];
  // The longest first: the backslash of an escape is no backslash of the value.
  return `(?:${alternatives.toReversed().join('|')})`;
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/gu, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

function base64Pattern(core: string): RegExp {
  const special: Readonly<Record<string, string>> = { '+': '(?:\\+|%2[bB])', '/': '(?:\\/|\\\\\\/|%2[fF])' };
  const characters = Array.from(core, (character) => special[character] ?? character);
  return new RegExp(characters.join('(?:\\s|\\\\[rnt]|%0[aAdD]|%20)*'), 'gu');
}

function hexPattern(hex: string): RegExp {
  return new RegExp(Array.from(hex, (digit) => anyCase(digit)).join('[\\s:\\-]?'), 'gu');
}
