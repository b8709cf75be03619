import { CST, type Document, Lexer, LineCounter, type Node, parseDocument, type YAMLParseError } from 'yaml';
import { indentationFault } from './indentation-fault.ts';

export interface Position {
  readonly line: number;
  readonly column: number;
}

export function positionAfter(text: string): Position {
  const lines = text.split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

export interface YamlText {
  readonly document: Document.Parsed;
  readonly root: Node | null;
  readonly faults: readonly (Position & { readonly message: string })[];
  readonly positionOf: (offset: number) => Position;
}

/** YAML 1.2. Faults never quote the text, which may be a secret. Readers look for duplicate keys: the library takes half a minute for 60,000. */
export function parseYaml(text: string): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // 'silent' would hide a second document.
    logLevel: 'error',
    uniqueKeys: false,
    version: '1.2',
  });
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const faults = faultsOf(document.errors, text, positionOf);
  // "%YAML 1.1" would turn `off` into false, and 0777 into octal.
  if (document.directives.yaml.version !== '1.2') {
    faults.push({ line: 1, column: 1, message: 'the %YAML directive asks for another version than 1.2; remove it' });
  }
  return { document, root: document.contents, faults, positionOf };
}

const explanations: Partial<Record<YAMLParseError['code'], string>> = {
  ALIAS_PROPS: 'an alias (*name) takes neither anchor nor tag',
  BAD_ALIAS: 'an alias (*name) has no valid name; text that begins with * must be quoted',
  BAD_DQ_ESCAPE: 'YAML does not know this escape in double quotes; use single quotes to keep the backslash',
  BAD_INDENT: 'the indentation or a closing bracket is wrong here',
  BAD_SCALAR_START: 'a value cannot begin with this character; put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " is on this line; put the value in quotes, or begin a new line',
  BLOCK_IN_FLOW: 'indented lines are inside [ ] or { }; write all of the value in one style',
  KEY_OVER_1024_CHARS: 'a key has more than 1,024 characters',
  MISSING_CHAR: 'a closing quote or bracket, a colon, or a space is missing here',
  MULTILINE_IMPLICIT_KEY: 'this line has no ": "; write "key: value"',
  MULTIPLE_ANCHORS: 'a value has two anchors (&name)',
  MULTIPLE_DOCS: 'a second document begins here (---); keep one',
  MULTIPLE_TAGS: 'a value has two tags (!name)',
  RESOURCE_EXHAUSTION: 'the text is nested too deeply',
  TAB_AS_INDENT: 'a tab indents this line; use spaces',
  UNEXPECTED_TOKEN: 'YAML does not allow this text here; put text with special characters in quotes',
};

/** What a wrong indentation makes of the lines below. */
const structural: ReadonlySet<string> = new Set([
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'TAB_AS_INDENT',
  'UNEXPECTED_TOKEN',
]);

/** After a wrong indentation, further faults are about lines that are right. */
function faultsOf(
  errors: readonly YAMLParseError[],
  text: string,
  positionOf: YamlText['positionOf'],
): (Position & { readonly message: string })[] {
  const lines = text.split(/\r?\n/u);
  const faults: (Position & { readonly message: string })[] = [];
  let isMisplaced = false;
  for (const [offset, together] of Map.groupBy(errors, ({ pos }) => pos[0])) {
    const codes = new Set(together.map(({ code }) => code));
    const isStructural = together.some(({ code }) => structural.has(code));
    if (isMisplaced && isStructural) continue;
    const position = positionOf(offset);
    const misplaced = isStructural ? misplacement(codes, lines, position) : undefined;
    isMisplaced ||= misplaced !== undefined;
    faults.push({ ...position, message: `is not valid YAML: ${misplaced ?? explain(codes)}` });
  }
  return faults;
}

type Codes = ReadonlySet<YAMLParseError['code']>;

function misplacement(codes: Codes, lines: readonly string[], position: Position): string | undefined {
  if (codes.has('TAB_AS_INDENT')) return explanations.TAB_AS_INDENT;
  // If the next line is indented deeper, the parser takes the value for a key and reports two errors.
  const isDeeper = codes.has('BLOCK_AS_IMPLICIT_KEY') && codes.has('MULTILINE_IMPLICIT_KEY');
  const deeper = 'the line below is indented deeper than this value’s key; indent both keys alike';
  return indentationFault(lines, position) ?? (isDeeper ? deeper : undefined);
}

/** One message for all errors at one place. */
function explain(codes: Codes): string {
  const [first] = codes;
  return (first && explanations[first]) ?? 'this cannot be read';
}

/** Where a text exceeds a limit, and which. */
interface Excess {
  readonly offset: number;
  readonly message: string;
}

const maxTokens = 400_000;
/** Of one line or, within brackets, from comma to comma. */
const maxAdjacent = 1_000;
export const maxDepth = 100;

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
    if (depth > maxDepth || adjacent > maxAdjacent) return { offset, message: tooDeep };
    if (tokens > maxTokens) return { offset, message: 'the text has more than 400,000 tokens; split the document' };
    offset += token.length;
  }
  return undefined;
}

export const tooDeep = `is nested deeper than ${maxDepth} levels`;
