//** Local time, `2026-03-01 22:00:00`. */
export function timeText(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
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
  return `${Math.round(minutes / 1_440)} days`;
}

/**
 * Characters that change how others look, or that are invisible. Those are controls but line breaks and tabs, and those of
 * the direction of text. A font may leave others out. Every blank but the space is one of them. Each is shown by its number, so that a text says what it is.
 */
const unseen =
  /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cf}\p{Cs}\p{Zl}\p{Zp}[\p{Zs}--[ ]][\p{Cc}--[\n\r\t]]\u2800\u{1d159}]/gv;

/** A text whose unseen characters are seen, such as `⟨U+202E⟩`. */
export function seenText(text: string): string {
  return text.replaceAll(unseen, (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
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
  let depth = 0;
  let key = '';
  let begin = -1;
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gsu)) {
    const [token] = match;
    if (depth === 1 && endsMember(token)) {
      if (begin >= 0 && key === wanted) return text.slice(begin, match.index).trim();
      begin = -1;
    } else if (depth === 1) {
      if (token === ':') begin = match.index + 1;
      else if (begin < 0) key = token;
    }
    depth += stepOf[token] ?? 0;
  }
  return undefined;
}

const stepOf: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };

function endsMember(token: string): boolean {
  return token === ',' || token === '}';
}
