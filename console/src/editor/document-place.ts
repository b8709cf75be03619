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
import { readFlow } from './flow-place.ts';

/**
 * The place of a cursor in YAML or JSON that is being written, and so often wrong. It reads the text before the cursor alone, by indentation
 * and brackets. It does not understand anchors, tags and keys of several lines. Undefined inside a comment or a text of several lines.
 */
export function placeIn(text: string, cursor: number): DocumentPlace | undefined {
  return scan({ text: text.slice(0, cursor), frames: [], onText: () => {}, onName: () => {} });
}

/** Where the text of a member is, such as that of `document.version`, with its quotes. */
export function textAt(text: string, wanted: readonly string[]): { readonly from: number; readonly to: number } | undefined {
  let found: { readonly from: number; readonly to: number } | undefined;
  const onText: Scanning['onText'] = (path, from, to) => {
    if (isSame(path, wanted)) found ??= { from, to };
  };
  scan({ text, frames: [], onText, onName: () => {} });
  return found;
}

/** Where the name of a member is. `pointer`: RFC 6901. */
export function nameAt(text: string, pointer: string): number | undefined {
  const wanted = pointer.split('/').slice(1);
  let found: number | undefined;
  const onName: Scanning['onName'] = (path, from) => {
    if (
      isSame(
        path,
        wanted.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')),
      )
    )
      found ??= from;
  };
  scan({ text, frames: [], onText: () => {}, onName });
  return found;
}

function isSame(path: readonly (string | number)[], wanted: readonly string[]): boolean {
  return path.length === wanted.length && path.every((name, at) => String(name) === wanted[at]);
}

interface LineOf {
  readonly start: number;
  readonly end: number;
  readonly isLast: boolean;
}

function scan(scanning: Scanning): DocumentPlace | undefined {
  const { text } = scanning;
  // The column of a member whose text is the lines that are indented more.
  let block = -1;
  for (let start = 0; ; ) {
    const found = text.indexOf('\n', start);
    const line = { start, end: found < 0 ? text.length : found, isLast: found < 0 };
    const indent = /^\s*/u.exec(text.slice(start, line.end))?.[0].length ?? 0;
    const isBlock = block >= 0 && goesOnIn(block, indent, line);
    const read: ReadLine = isBlock ? { next: line.end, block } : readLine(scanning, line, indent);
    if ('place' in read) return read.place;
    block = read.block ?? -1;
    const next = text.indexOf('\n', read.next);
    if (next < 0) return undefined;
    start = next + 1;
  }
}

/** Empty lines are part of a text too. */
function goesOnIn(block: number, indent: number, { start, end, isLast }: LineOf): boolean {
  return indent > block || (!isLast && start + indent === end);
}

type ReadLine = ReadValue & { readonly block?: number };

function readLine(scanning: Scanning, line: LineOf, indent: number): ReadLine {
  const { text, frames } = scanning;
  const { start, end, isLast } = line;
  const content = text.slice(start + indent, end);
  const goesOn = { next: end };
  if (content === '') return isLast ? { place: keyPlace(frames, indent, end) } : goesOn;
  if (content.startsWith('#')) return isLast ? { place: undefined } : goesOn;
  let column = indent;
  for (let dash = dashAt(text, start + column, end); dash > 0; dash = dashAt(text, start + column, end)) {
    beginItem(frames, column);
    column += dash;
  }
  if (start + column >= end) return isLast ? { place: keyPlace(frames, column, end) } : goesOn;
  return readMember(scanning, line, column);
}

/** The length of a dash with the space behind it. */
function dashAt(text: string, from: number, end: number): number {
  return /^-(?:\s+|$)/u.exec(text.slice(from, end))?.[0].length ?? 0;
}

const keyForm = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#&*!|>%@`{}[\],-][^#{}[\],:]*|-[^\s#{}[\],:]+)\s*:(?=\s|$)/u;

function readMember(scanning: Scanning, { start, end, isLast }: LineOf, column: number): ReadLine {
  const { text, frames } = scanning;
  const content = text.slice(start + column, end);
  if (/^[{[]/u.test(content)) return readFlow(scanning, start + column);
  const key = keyForm.exec(content);
  if (key === null) return isLast ? { place: keyPlace(frames, column, start + column) } : { next: end };
  const frame = frameAt(frames, column);
  frame.key = unquoted(key[1] ?? '');
  scanning.onName(pathOf(frames), start + column);
  const from = start + column + key[0].length;
  const gap = /^\s*/u.exec(text.slice(from, end))?.[0].length ?? 0;
  return readValue(scanning, { frame, from: from + gap, end, place: isLast && gap > 0 ? 'wanted' : isLast ? 'none' : undefined });
}

interface Value {
  readonly frame: Frame;
  readonly from: number;
  readonly end: number;
  /** On the last line: `none` right behind the colon, where no value begins yet. */
  readonly place: 'wanted' | 'none' | undefined;
}

function readValue(scanning: Scanning, { frame, from, end, place }: Value): ReadLine {
  const { text, frames, onText } = scanning;
  const value = text.slice(from, end);
  const before = new Map(frame.members);
  if (/^[{[]/u.test(value)) {
    frame.members.set(frame.key ?? '', '');
    return readFlow(scanning, from);
  }
  const written = writtenIn(value);
  frame.members.set(frame.key ?? '', unquoted(written));
  if (written !== '') onText(pathOf(frames), from, from + written.length);
  const isBlock = /^[|>][-+\d]*$/u.test(written);
  if (place === undefined) return { next: end, block: isBlock ? frame.indent : -1 };
  const isComment = value.trimEnd().length > written.length;
  if (place === 'none' || isBlock || isComment) return { place: undefined };
  return { place: { levels: levelsOf(frames), kind: 'value', members: before, from, isFlow: false } };
}

/** Without a comment. */
function writtenIn(value: string): string {
  const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/u.exec(value)?.[0];
  return quoted ?? value.replace(/(?:^|\s)#.*$/u, '').trimEnd();
}

/** The next entry of the list whose dashes are in that column. */
function beginItem(frames: Frame[], column: number): void {
  while ((frames.at(-1)?.indent ?? -1) > column) frames.pop();
  const top = frames.at(-1);
  if (top?.isList === true && top.indent === column) top.index += 1;
  else frames.push(newFrame(true, column));
}

/** The object whose members are in that column. */
function frameAt(frames: Frame[], column: number): Frame {
  let top = frames.at(-1);
  while (top !== undefined && (top.indent > column || (top.indent === column && top.isList))) {
    frames.pop();
    top = frames.at(-1);
  }
  if (top?.indent === column) return top;
  const frame = newFrame(false, column);
  frames.push(frame);
  return frame;
}

function keyPlace(frames: readonly Frame[], column: number, from: number): DocumentPlace {
  const around = [...frames];
  while ((around.at(-1)?.indent ?? -1) > column) around.pop();
  const top = around.at(-1);
  const isSame = top !== undefined && !top.isList && top.indent === column;
  const members: ReadonlyMap<string, string> = isSame ? top.members : new Map();
  return { levels: levelsOf(isSame ? around.slice(0, -1) : around), kind: 'key', members, from, isFlow: false };
}
