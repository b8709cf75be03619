//** Local time, `2026-03-01 22:00:00`. */
export function timeText(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Costly to make, and needed for each time of a list. */
let zoneFormat: Intl.DateTimeFormat | undefined;

/** Local time with its zone, `2026-03-01 22:00:00 GMT+1`. */
export function zonedText(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  zoneFormat ??= new Intl.DateTimeFormat('en', { timeZoneName: 'short' });
  const parts = zoneFormat.formatToParts(date);
  return `${timeText(at)} ${parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''}`.trimEnd();
}

/** `1 error`, `2 errors`. */
export function countText(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** `in 3 h`, `5 min ago`. */
export function fromNowText(at: string, now = Date.now()): string {
  const difference = Date.parse(at) - now;
  const text = spanText(Math.abs(difference));
  if (text === 'now') return text;
  return difference > 0 ? `in ${text}` : `${text} ago`;
}

function spanText(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  if (milliseconds < 5_000) return 'now';
  if (minutes < 1) return `${Math.round(milliseconds / 1_000)} s`;
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h`;
  const days = Math.round(minutes / 1_440);
  if (days < 60) return `${days} days`;
  return days < 730 ? `${Math.round(days / 30.4)} months` : `${Math.round(days / 365.25)} years`;
}

/**
 * Characters that change how others look, or that are invisible. Those are controls but tabs and the ends of lines, and those of
 * the direction of text. A font may leave others out. Every blank but the space is one of them. Each is shown by its number, so that a text says what it is.
 */
const unseen =
  /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cf}\p{Cs}\p{Zl}\p{Zp}[\p{Zs}--[ ]][\p{Cc}--[\n\r\t]]\u2800\u{1d159}]|\r(?!\n)/gv;

/** A text whose unseen characters are seen, such as `⟨U+202E⟩`. */
export function seenText(text: string): string {
  return text.replaceAll(unseen, (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** How many characters of a text one would not see. */
export function unseenCount(text: string): number {
  return [...text.matchAll(unseen)].length;
}

/** The names on the way to a task: `prepareDevices / checkSync` for `/do/0/prepareDevices/do/0/checkSync`. */
export function taskNames(reference: string): readonly string[] {
  const names = [...reference.matchAll(/\/\d+\/([^/]+)/gu)].map(([, name = '']) =>
    name.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
  return names.length === 0 ? [reference] : names;
}

/** The last part of the type of an error, such as `outcome-unknown`. */
export function errorKind(type: string): string {
  return /[^/:#]+$/u.exec(type)?.[0] ?? type;
}

/**
 * JSON text in lines, with the digits of its numbers: it moves white space only. Text that is no JSON stays as it is.
 */
export function indentedJson(text: string): string {
  if (!/^\s*[[{]/u.test(text)) return text;
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+|[^\s"{}[\],:]+/gsu, (token) => {
    if (/^\s/u.test(token)) return '';
    if (/^[{[]\s*[}\]]$/u.test(token)) return token.replaceAll(/\s/gu, '');
    if (token === '{' || token === '[') {
      depth += 1;
      return token + line();
    }
    if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1);
      return line() + token;
    }
    if (token === ',') return `,${line()}`;
    return token === ':' ? ': ' : token;
  });
}

/** The text of a member of a JSON object, with the digits of its numbers; undefined where there is none. */
export function memberText(text: string, name: string): string | undefined {
  const wanted = JSON.stringify(name);
  return membersOf(text).find(([key]) => key === wanted)?.[1];
}

/** `data.input` of an automation as JSON text, with the digits of its numbers. */
export function inputText(automationText: string): string {
  return memberText(memberText(automationText, 'data') ?? '{}', 'input') ?? '{}';
}

/** The names of the members of a JSON object. */
export function memberNames(text: string): readonly string[] {
  return membersOf(text).map(([key]) => JSON.parse(key) as string);
}

/** Whether two JSON objects have the same members, with the same digits, in any order. */
export function haveSameMembers(one: string, other: string): boolean {
  const [ours, theirs] = [indentedJson(one), indentedJson(other)];
  const names = memberNames(ours);
  return (
    names.length === memberNames(theirs).length && names.every((name) => memberText(ours, name) === memberText(theirs, name))
  );
}

/** The texts of the elements of a JSON array, with the digits of their numbers. */
export function elementTexts(text: string): readonly string[] {
  return membersOf(text, '[').map(([, element]) => element);
}

/** Of an object; the elements of a list have an empty key. */
type Members = readonly (readonly [key: string, value: string])[];

function membersOf(text: string, opening: '[' | '{' = '{'): Members {
  if (text.trimStart()[0] !== opening) return [];
  const members: (readonly [string, string])[] = [];
  let key = '';
  let begin = -1;
  for (const { token, index, isEnd } of topTokens(text)) {
    if (isEnd) {
      if (begin >= 0) members.push([key, text.slice(begin, index).trim()]);
      begin = -1;
    } else if (begin < 0) {
      begin = valueBegin(token, index, opening);
      if (begin < 0) key = token;
    }
  }
  return members;
}

/** The tokens right inside the outermost value, and the commas and the bracket that end its members. */
function* topTokens(text: string): Generator<{ readonly token: string; readonly index: number; readonly isEnd: boolean }> {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gsu)) {
    const step = stepOf[token] ?? 0;
    if (depth === 1) yield { token, index, isEnd: token === ',' || step < 0 };
    depth += step;
  }
}

/** The value of an object's member begins after its colon. */
function valueBegin(token: string, index: number, opening: '[' | '{'): number {
  if (opening === '[') return index;
  return token === ':' ? index + 1 : -1;
}

const stepOf: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };
