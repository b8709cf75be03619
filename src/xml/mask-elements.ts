const attribute = /(?<=\s)([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')/gu;

/**
 * The XML text with `mask` for the content of elements and for the values of attributes whose names `hides` names. All else stays as it is
 * written. Of an element that does not end, the rest of the text is masked.
 */
export function maskElements(text: string, hides: (name: string) => boolean, mask: string): string {
  let [out, written, depth] = ['', 0, 0];
  for (const { start, end, name, isEnd, isEmpty } of tagsIn(text)) {
    if (depth > 0) {
      if (!isEmpty) depth += isEnd ? -1 : 1;
      if (depth === 0) [out, written] = [out + mask, start];
    } else if (!isEnd) {
      out += text.slice(written, start) + shownTag(text.slice(start, end), hides, mask);
      written = end;
      if (!isEmpty && hides(name)) depth = 1;
    }
  }
  return depth > 0 ? out + mask : out + text.slice(written);
}

function shownTag(tag: string, hides: (name: string) => boolean, mask: string): string {
  if (!tag.includes('=')) return tag;
  return tag.replaceAll(attribute, (whole, name: string, equals: string) => (hides(name) ? `${name}${equals}"${mask}"` : whole));
}

interface Tag {
  readonly start: number;
  /** Behind its `>`. */
  readonly end: number;
  readonly name: string;
  readonly isEnd: boolean;
  readonly isEmpty: boolean;
}

/** What is not markup of elements, by how it begins and ends. */
const others = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
] as const;

/** Up to the first markup that does not end. */
function* tagsIn(text: string): Generator<Tag> {
  for (let start = text.indexOf('<'); start >= 0; ) {
    const other = others.find(([begin]) => text.startsWith(begin, start));
    const end = other === undefined ? tagEnd(text, start + 1) : endOf(text, other[1], start + other[0].length);
    if (end < 0) return;
    const isEnd = text[start + 1] === '/';
    const isEmpty = text[end - 2] === '/';
    const name = /^[^\s/>]*/u.exec(text.slice(start + (isEnd ? 2 : 1), Math.min(end, start + maxName)))?.[0] ?? '';
    if (other === undefined) yield { start, end, name, isEnd, isEmpty };
    start = text.indexOf('<', end);
  }
}

/** Characters of a tag in which its name is looked for. */
const maxName = 1_024;

function endOf(text: string, ending: string, from: number): number {
  const at = text.indexOf(ending, from);
  return at < 0 ? -1 : at + ending.length;
}

/** Behind the `>` that no quotation marks enclose. */
function tagEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '>') return at + 1;
    if (character !== '"' && character !== "'") continue;
    at = text.indexOf(character, at + 1);
    if (at < 0) return -1;
  }
  return -1;
}
