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

const steps: Partial<Record<string, number>> = {
  'flow-map-start': 1,
  'flow-seq-start': 1,
  'flow-map-end': -1,
  'flow-seq-end': -1,
};

/** Marks of the lexer, which are no part of the text. */
const marks: readonly string[] = [CST.DOCUMENT, CST.SCALAR, CST.FLOW_END];

/**
 * The first place at which a text has more than the parser can read in reasonable time: a hostile megabyte takes it half a minute. The
 * lexer is quick, and this function ends it at the first excess.
 */
export function excessOf(text: string): Excess | undefined {
  let [offset, tokens, adjacent, depth] = [0, 0, 0, 0];
  for (const token of new Lexer().lex(text)) {
    if (marks.includes(token)) continue;
    const type = CST.tokenType(token) ?? '';
    tokens += 1;
    adjacent = type === 'newline' || type === 'comma' ? 0 : adjacent + 1;
    depth += steps[type] ?? 0;
    if (depth > depthAtMost || adjacent > adjacentAtMost) return { offset, message: tooDeep };
    if (tokens > tokensAtMost) return { offset, message: 'the text has more than 400,000 tokens; split the document' };
    offset += token.length;
  }
  return undefined;
}

export const tooDeep = `is nested deeper than ${depthAtMost} levels`;
