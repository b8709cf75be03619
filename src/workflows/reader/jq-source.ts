/** JSON has no `\(`, so nothing in it is interpolated. */
export function jqString(text: string): string {
  return JSON.stringify(text);
}

/** `partial`: `${ }` is within a longer text. */
export function expressionIn(text: string): { readonly expression: string } | 'partial' | undefined {
  const whole = /^\s*\$\{(.*)\}\s*$/su.exec(text)?.[1];
  // Not so `${ .a } and ${ .b }`, whose first brace closes early.
  if (whole !== undefined && !closesEarly(whole)) return { expression: whole.trim() };
  return /\$\{.*\}/su.test(text) ? 'partial' : undefined;
}

const opening: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '"': '"' };

/** Whether a `}` within the text closes its `${`. */
function closesEarly(jq: string): boolean {
  const end = scan(jq);
  return 'surplus' in end && jq[end.surplus] === '}';
}

/** Whether brackets and quotes are complete, so that parentheses contain the text. False with a comment, which may go on. */
export function isBalanced(jq: string): boolean {
  const end = scan(jq);
  return 'open' in end && end.open === 0 && !end.hasComment;
}

/** Looks for `=` outside of strings. */
export function assigns(jq: string): boolean {
  return /(?<![=!<>|+\-*/%])=(?!=)/u.test(jq.replaceAll(/"(?:[^"\\]|\\.)*"|#[^\n]*/gsu, ''));
}

/** Strings with `\( )`, comments and brackets, as the lexer of jq reads them. */
function scan(jq: string): { readonly open: number; readonly hasComment: boolean } | { readonly surplus: number } {
  const open: string[] = [];
  let hasComment = false;
  for (let index = 0; index < jq.length; index += 1) {
    const character = jq.charAt(index);
    const closing = opening[character];
    if (open.at(-1) === '"') index = afterStringPart(jq, index, open);
    else if (character === '#') {
      hasComment = true;
      index = lineEnd(jq, index);
    } else if (closing !== undefined) open.push(closing);
    else if (')]}'.includes(character) && open.pop() !== character) return { surplus: index };
  }
  return { open: open.length, hasComment };
}

/** Returns the index of the last character of one character or escape. */
function afterStringPart(jq: string, index: number, open: string[]): number {
  if (jq[index] === '"') open.pop();
  if (jq[index] !== '\\') return index;
  if (jq[index + 1] === '(') open.push(')');
  return index + 1;
}

function lineEnd(jq: string, from: number): number {
  const end = jq.indexOf('\n', from);
  return end === -1 ? jq.length : end;
}

const mention = /\$secrets\s*\.?\s*(?:\[?\s*"([^"\\]*)"|([A-Za-z_]\w*))/gu;

/** Named as `$secrets.NAME` or `$secrets["NAME"]`; a text within a string counts too. */
export function secretMentions(jq: string): readonly string[] {
  if (!jq.includes('$secrets')) return [];
  return Array.from(jq.matchAll(mention), ([, quoted, plain]) => quoted ?? plain ?? '').filter(
    (name) => !name.endsWith(pairSuffix),
  );
}

/** `$secrets["NAME:basic"]`: both parts of a secret that is `username:password`. */
export const pairSuffix = ':basic';
