import ts from 'typescript';
import type { Prose } from './prose.ts';

/** What a person reads of a TypeScript or JavaScript file. */
interface SourceProse {
  readonly comments: readonly Prose[];
  readonly testNames: readonly Prose[];
  /** String and template literals: messages among them. */
  readonly literals: readonly Prose[];
}

export function sourceProse(file: string, text: string): SourceProse {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
  const testNames: Prose[] = [];
  const literals: Prose[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      const name = { line: lineOf(node.getStart()), text: literalText(node) };
      (isTestName(node) ? testNames : literals).push(name);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { comments: commentProse(commentsOf(source, text), lineOf), testNames, literals };
}

function literalText(node: ts.StringLiteralLike | ts.TemplateExpression): string {
  if (!ts.isTemplateExpression(node)) return node.text;
  return node.head.text + node.templateSpans.map(({ literal }) => `\`value\`${literal.text}`).join('');
}

const testFunctions: ReadonlySet<string> = new Set(['test', 'it', 'describe', 'suite']);

function isTestName(node: ts.Node): boolean {
  const { parent } = node;
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== node) return false;
  const called = ts.isPropertyAccessExpression(parent.expression) ? parent.expression.name : parent.expression;
  return ts.isIdentifier(called) && testFunctions.has(called.text);
}

interface Comment {
  readonly begin: number;
  readonly text: string;
}

/** Every comment once, in the order of the file. */
function commentsOf(source: ts.SourceFile, text: string): readonly Comment[] {
  const found = new Map<number, Comment>();
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
    ];
    for (const { pos, end } of ranges) found.set(pos, { begin: pos, text: text.slice(pos, end) });
    // JSX and template texts hold no comments; tokens do, where they are no children.
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return [...found.values()].toSorted((one, other) => one.begin - other.begin);
}

const directive = /^\s*(?:oxlint-|biome-|@ts-|#!|\/ <reference|v8 ignore)/u;

/** Paragraphs of comments: lines of // that follow each other are one, a blank line or a tag in a block begins another. */
function commentProse(comments: readonly Comment[], lineOf: (position: number) => number): readonly Prose[] {
  const found: Prose[] = [];
  let lines: { readonly begin: number; end: number; parts: string[] } | undefined;
  const endLines = (): void => {
    if (lines !== undefined) found.push({ line: lines.begin, text: lines.parts.join(' ') });
    lines = undefined;
  };
  for (const { begin, text } of comments) {
    const line = lineOf(begin);
    if (text.startsWith('//')) {
      const said = text.slice(2).trim();
      if (directive.test(said)) continue;
      if (lines !== undefined && line === lines.end + 1) {
        lines.parts.push(said);
        lines.end = line;
      } else {
        endLines();
        lines = { begin: line, end: line, parts: [said] };
      }
    } else {
      endLines();
      found.push(...blockProse(text, line));
    }
  }
  endLines();
  return found;
}

function blockProse(comment: string, first: number): readonly Prose[] {
  const found: Prose[] = [];
  let paragraph: { line: number; parts: string[] } | undefined;
  const end = (): void => {
    if (paragraph !== undefined) found.push({ line: paragraph.line, text: paragraph.parts.join(' ') });
    paragraph = undefined;
  };
  const lines = comment
    .replace(/^\/\*\*?/u, '')
    .replace(/\*\/$/u, '')
    .split('\n');
  for (const [index, raw] of lines.entries()) {
    const said = raw.replace(/^\s*\*(?: |$)/u, '');
    // What is indented is an example of code.
    if (said.trim() === '' || directive.test(said.trim()) || (index > 0 && /^\s{2,}\S/u.test(said))) end();
    else if (paragraph === undefined || /^(?:- |@)/u.test(said)) {
      end();
      paragraph = { line: first + index, parts: [said.replace(/^(?:- |@\w+ ?)/u, '').trim()] };
    } else paragraph.parts.push(said.trim());
  }
  end();
  return found;
}
