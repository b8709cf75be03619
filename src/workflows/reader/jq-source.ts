/** jq text that gives this text. JSON has no `\(`, so that nothing in it can be interpolated. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/**
 * What a text is: one whole expression in `${ }` (`expression` is what the braces hold), a text that has `${ }` somewhere within, or
 * neither.
 */
export function expressionIn(text: string): { readonly expression: string } | 'partial' | undefined {
  const whole = /^\s*\$\{(.*)\}\s*$/su.exec(text)?.[1];
  // `${ .a } and ${ .b }` begins and ends like one expression, but its first brace closes before the end.
  if (whole !== undefined && !closesEarly(whole)) return { expression: whole.trim() };
  return /\$\{.*\}/su.test(text) ? 'partial' : undefined;
}

/** What has to come after each opening character. */
const opening: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '"': '"' };

/** Whether a `}` closes the `${` around the text before its end. */
function closesEarly(jq: string): boolean {
  const end = scan(jq);
  return 'surplus' in end && jq[end.surplus] === '}';
}

/**
 * Whether the brackets and the quotes of a jq text are complete. If so, the text is one expression wherever it compiles in parentheses. A
 * text with a comment counts as incomplete, because a comment may continue on the next line.
 */
export function isBalanced(jq: string): boolean {
  const end = scan(jq);
  return 'open' in end && end.open === 0 && !end.hasComment;
}

/** Whether the text assigns with `=`, outside of strings. A text within `\( )` is not looked at. */
export function assigns(jq: string): boolean {
  return /(?<![=!<>|+\-*/%])=(?!=)/u.test(jq.replaceAll(/"(?:[^"\\]|\\.)*"|#[^\n]*/gsu, ''));
}

/** Reads jq as its lexer does: strings with `\( )` in them, comments, brackets. */
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

/** Reads one character or escape of a string. Returns the index of its last character. */
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
