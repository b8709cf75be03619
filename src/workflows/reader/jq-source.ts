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

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

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

/** Reads jq as its lexer does: strings with `\( )` in them, comments, brackets. */
function scan(jq: string): { readonly open: number; readonly hasComment: boolean } | { readonly surplus: number } {
  // A quote for an open string, else the bracket that has to come.
  const open: string[] = [];
  let hasComment = false;
  for (let index = 0; index < jq.length; index += 1) {
    const character = jq.charAt(index);
    if (open.at(-1) === '"') {
      if (character === '"') open.pop();
      else if (character === '\\') {
        index += 1;
        if (jq[index] === '(') open.push(')');
      }
    } else if (character === '"') open.push('"');
    else if (character === '#') {
      hasComment = true;
      while (index < jq.length && jq[index] !== '\n') index += 1;
    } else if (closing[character] !== undefined) open.push(closing[character]);
    else if (character === ')' || character === ']' || character === '}') {
      if (open.pop() !== character) return { surplus: index };
    }
  }
  return { open: open.length, hasComment };
}
