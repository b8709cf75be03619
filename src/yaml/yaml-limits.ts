import { CST, Lexer } from 'yaml';

/** Where a text exceeds a limit, and which. */
interface Excess {
  readonly offset: number;
  readonly message: string;
}

const tokensAtMost = 400_000;
/** Of one line or, within brackets, from comma to comma. */
const adjacentAtMost = 1_000;
export const depthAtMost = 100;

/**
 * The first place at which a text has more than the parser can read in reasonable time: a hostile megabyte takes it half a minute. The
 * lexer is quick, and this function ends it at the first excess.
 */
export function excessOf(text: string): Excess | undefined {
  let offset = 0;
  let tokens = 0;
  let adjacent = 0;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    // Marks of the lexer, which are no part of the text.
    if (token === CST.DOCUMENT || token === CST.SCALAR || token === CST.FLOW_END) continue;
    const type = CST.tokenType(token);
    tokens += 1;
    adjacent = type === 'newline' || type === 'comma' ? 0 : adjacent + 1;
    if (type === 'flow-map-start' || type === 'flow-seq-start') depth += 1;
    else if (type === 'flow-map-end' || type === 'flow-seq-end') depth -= 1;
    if (depth > depthAtMost || adjacent > adjacentAtMost) return { offset, message: tooDeep };
    if (tokens > tokensAtMost) return { offset, message: 'the text has more than 400,000 tokens; split the document' };
    offset += token.length;
  }
  return undefined;
}

export const tooDeep = `is nested deeper than ${depthAtMost} levels`;
