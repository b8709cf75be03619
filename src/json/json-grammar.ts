/** RFC 8259 as a table: byte × state → next state, or an action from `firstAction` on, whose next state the scanner computes from the nesting. */

// Inside strings. Only the first two states skip runs of plain bytes.
const inString = 0;
export const inKey = 1;
const stringEscape = 2;
const stringHex = 3; // up to 6: four hexadecimal digits
const keyEscape = 7;
const keyHex = 8; // up to 11
// Between tokens.
export const beforeValue = 12;
export const beforeFirstItem = 13;
export const beforeFirstKey = 14;
const beforeKey = 15;
export const beforeColon = 16;
export const afterMember = 17;
export const afterItem = 18;
export const afterDocument = 19;
export const failed = 20;
// Inside numbers.
const minus = 21;
const zero = 22;
export const inInteger = 23;
const point = 24;
const fraction = 25;
const exponent = 26;
const exponentSign = 27;
const exponentDigits = 28;
// Inside literals: one state for each remaining letter.
const literals = [
  { text: 'true', state: 29 },
  { text: 'false', state: 32 },
  { text: 'null', state: 36 },
] as const;
const stateCount = 39;

export const firstAction = 64;
/** An unreported value ends before (`skipNumber`) or after this byte. */
const skipNumber = 64;
export const skipValue = 65;
export const openObject = 66;
const openArray = 67;
export const closeContainer = 68;
export const endValue = 69;
export const endNumber = 70;
export const endKey = 71;
export const beginToken = 72;
export const fail = 73;

const whiteSpace = ' \t\n\r';
const digits = '0123456789';
const hexDigits = '0123456789abcdefABCDEF';

function on(table: Uint8Array, state: number, characters: string, next: number): void {
  for (let i = 0; i < characters.length; i++) table[(state << 8) | characters.charCodeAt(i)] = next;
}

function addString(table: Uint8Array, string: number, escape: number, hex: number, end: number): void {
  // RFC 8259, section 7.
  table.fill(string, (string << 8) | 0x20, (string << 8) | 0x100);
  on(table, string, '"', end);
  on(table, string, '\\', escape);
  on(table, escape, '"\\/bfnrt', string);
  on(table, escape, 'u', hex);
  for (let i = 0; i < 4; i++) on(table, hex + i, hexDigits, i === 3 ? string : hex + i + 1);
}

function addNumber(table: Uint8Array, end: number): void {
  on(table, minus, '0', zero);
  on(table, minus, '123456789', inInteger);
  on(table, inInteger, digits, inInteger);
  on(table, point, digits, fraction);
  on(table, fraction, digits, fraction);
  on(table, exponent, '+-', exponentSign);
  for (const state of [exponent, exponentSign, exponentDigits]) on(table, state, digits, exponentDigits);
  for (const state of [zero, inInteger]) on(table, state, '.', point);
  for (const state of [zero, inInteger, fraction]) on(table, state, 'eE', exponent);
  for (const state of [zero, inInteger, fraction, exponentDigits]) on(table, state, `${whiteSpace},]}`, end);
}

/** By the first byte of a token. */
export const stateAfterFirstByte = new Uint8Array(256).fill(failed);

function addFirstBytes(): void {
  on(stateAfterFirstByte, 0, '"', inString);
  on(stateAfterFirstByte, 0, '-', minus);
  on(stateAfterFirstByte, 0, '0', zero);
  on(stateAfterFirstByte, 0, '123456789', inInteger);
  for (const { text, state } of literals) on(stateAfterFirstByte, 0, text.charAt(0), state);
}

function addStructure(table: Uint8Array, reporting: boolean): void {
  for (let state = beforeValue; state <= afterDocument; state++) on(table, state, whiteSpace, state);
  for (const state of [beforeValue, beforeFirstItem]) {
    on(table, state, '{', openObject);
    on(table, state, '[', openArray);
    for (const first of '"-0123456789tfn') {
      const next = stateAfterFirstByte[first.charCodeAt(0)] ?? failed;
      on(table, state, first, reporting ? beginToken : next);
    }
  }
  on(table, beforeFirstItem, ']', closeContainer);
  on(table, beforeFirstKey, '}', closeContainer);
  for (const state of [beforeFirstKey, beforeKey]) on(table, state, '"', reporting ? beginToken : inKey);
  on(table, beforeColon, ':', beforeValue);
  on(table, afterMember, ',', beforeKey);
  on(table, afterMember, '}', closeContainer);
  on(table, afterItem, ',', beforeValue);
  on(table, afterItem, ']', closeContainer);
}

function createTable(reporting: boolean): Uint8Array {
  const table = new Uint8Array(stateCount << 8).fill(fail);
  const end = reporting ? endValue : skipValue;
  addString(table, inString, stringEscape, stringHex, end);
  addString(table, inKey, keyEscape, keyHex, reporting ? endKey : beforeColon);
  addNumber(table, reporting ? endNumber : skipNumber);
  addStructure(table, reporting);
  for (const { text, state } of literals) {
    for (let i = 1; i < text.length; i++) {
      on(table, state + i - 1, text.charAt(i), i === text.length - 1 ? end : state + i);
    }
  }
  return table;
}

addFirstBytes();

/** No actions at tokens, for values that are not reported. */
export const silentTable = createTable(false);
/** With actions at the beginning and end of tokens. */
export const reportingTable = createTable(true);

/** Only the next byte or the end of the text ends it. */
export function isCompleteNumber(state: number): boolean {
  return state === zero || state === inInteger || state === fraction || state === exponentDigits;
}

export function expectedIn(state: number): string {
  if (state <= inKey) return 'a control character (U+0000 to U+001F) to be written as an escape';
  if (state === stringEscape || state === keyEscape) return 'one of " \\ / b f n r t u after the backslash';
  if (state < beforeValue) return 'four hexadecimal digits after \\u';
  if (state < minus) return expectedBetweenTokens[state - beforeValue] ?? 'JSON';
  if (isCompleteNumber(state)) return 'the number to end or to continue as RFC 8259 allows';
  return state <= exponentDigits ? 'a digit' : 'true, false or null';
}

const expectedBetweenTokens = [
  'a value',
  'a value or ]',
  'a member name in double quotes or }',
  'a member name in double quotes',
  'a colon after the member name',
  'a comma or }',
  'a comma or ]',
  'the end of the text',
  'nothing after an error',
];
