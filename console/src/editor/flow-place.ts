import {
  type DocumentPlace,
  type Frame,
  levelsOf,
  newFrame,
  pathOf,
  type ReadValue,
  type Scanning,
  unquoted,
} from './document-frames.ts';

/** What is read of the member or entry that is open. */
interface Reading {
  readonly scanning: Scanning;
  word: { readonly from: number; readonly text: string } | undefined;
  /** After the colon of a member. */
  isValue: boolean;
}

/** Strings, signs, comments, space, and plain texts, in which single spaces may be. */
const tokenForm = /"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|[{}[\],:]|\s+#[^\n]*|\s+|[^\s{}[\],:"']+(?:[ \t]+[^\s{}[\],:"'#]+)*/uy;

/** Reads brackets to their end, or to the end of the text: then that is the place. */
export function readFlow(scanning: Scanning, begin: number): ReadValue {
  const { text, frames } = scanning;
  const outer = frames.length;
  const reading: Reading = { scanning, word: undefined, isValue: false };
  tokenForm.lastIndex = begin;
  for (let match = tokenForm.exec(text); match !== null; match = tokenForm.exec(text)) {
    const next = tokenForm.lastIndex;
    if (/^\s+#/u.test(match[0]) && next >= text.length) return { place: undefined };
    take(reading, match[0], match.index);
    if (frames.length <= outer) return { next };
  }
  return { place: placeAtEnd(reading) };
}

function take(reading: Reading, token: string, from: number): void {
  const { frames } = reading.scanning;
  switch (token) {
    case '{':
    case '[':
      frames.push(newFrame(token === '[', -1));
      begin(reading, false);
      break;
    case '}':
    case ']':
      endWord(reading);
      frames.pop();
      begin(reading, frames.at(-1)?.isList === false);
      break;
    case ',':
      endWord(reading);
      endEntry(frames.at(-1));
      begin(reading, false);
      break;
    case ':':
      takeColon(reading, from);
      break;
    default:
      if (!/^\s/u.test(token)) addWord(reading, token, from);
  }
}

function begin(reading: Reading, isValue: boolean): void {
  reading.word = undefined;
  reading.isValue = isValue;
}

function addWord(reading: Reading, token: string, from: number): void {
  reading.word = { from: reading.word?.from ?? from, text: `${reading.word?.text ?? ''}${token}` };
}

function takeColon(reading: Reading, from: number): void {
  const top = reading.scanning.frames.at(-1);
  if (top === undefined || top.isList || reading.isValue || reading.word === undefined) {
    addWord(reading, ':', from);
    return;
  }
  top.key = unquoted(reading.word.text);
  reading.scanning.onName(pathOf(reading.scanning.frames), reading.word.from);
  begin(reading, true);
}

function endWord({ scanning: { frames, onText }, word, isValue }: Reading): void {
  const top = frames.at(-1);
  if (top === undefined) return;
  if (isValue && top.key !== undefined) top.members.set(top.key, unquoted(word?.text ?? ''));
  if (word !== undefined && (isValue || top.isList)) onText(pathOf(frames), word.from, word.from + word.text.length);
}

function endEntry(top: Frame | undefined): void {
  if (top?.isList === true) top.index += 1;
  else if (top !== undefined) top.key = undefined;
}

function placeAtEnd({ scanning: { frames, text }, word, isValue }: Reading): DocumentPlace {
  const top = frames.at(-1);
  const rest = { members: top?.members ?? new Map<string, string>(), from: word?.from ?? text.length, isFlow: true };
  if (top?.isList === true || isValue) return { levels: levelsOf(frames), kind: 'value', ...rest };
  return { levels: levelsOf(frames.slice(0, -1)), kind: 'key', ...rest };
}
