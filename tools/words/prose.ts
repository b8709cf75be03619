/** A piece of text that a person reads: one paragraph, list item, table cell, comment or test name. */
export interface Prose {
  /** 1 for the first line of its file. */
  readonly line: number;
  readonly text: string;
}

/** A sentence that breaks a rule, and how to mend it. */
interface WordProblem {
  readonly line: number;
  readonly problem: string;
}

/** Words in a sentence at most. */
const maxSentenceLength = 25;

/** Words that make a sentence hard to read in a second language, and what to write instead. */
const banned: readonly (readonly [RegExp, string])[] = [
  [/\bwho(?:so)?ever\b/iu, 'name the subject: the caller, the operator, the reader'],
  [/\bwho(?:m|mever)\b/iu, 'name the subject, and make it the one that acts'],
  [/\bwhatever\b/iu, 'write "any", "every" or "all"'],
  [/\bnobody\b/iu, 'name the subject: "no caller", "no test"'],
  [/\banew\b/iu, 'write "again"'],
  [/\bonce more\b/iu, 'write "again"'],
  [/\bbesides?\b/iu, 'write "next to", "with", "in addition to" or "apart from"'],
  [/\bstands\b/iu, 'write "is"'],
  [/\b(?:is|are|was|were|be|been|being) told\b/iu, 'name who says it: "the gateway answers", "the reply says"'],
];

/** Every problem of a piece of prose: banned words, and sentences that are too long. */
export function proseProblems(prose: Prose): readonly WordProblem[] {
  return [...bannedWords(prose), ...longSentences(prose)];
}

/** The banned words of a text that may be no sentence, such as a message with parts in it. */
export function bannedWords({ line, text }: Prose): readonly WordProblem[] {
  const plain = withoutQuotation(text);
  return banned.flatMap(([pattern, better]) => {
    const found = pattern.exec(plain);
    return found === null ? [] : [{ line, problem: `"${found[0]}": ${better}` }];
  });
}

function longSentences({ line, text }: Prose): readonly WordProblem[] {
  return sentencesOf(text).flatMap((sentence) => {
    const words = sentence.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    if (words <= maxSentenceLength) return [];
    const begin = sentence.split(/\s+/u).slice(0, 6).join(' ');
    return [
      { line, problem: `a sentence of ${words} words ("${begin} …"): make two of it, at most ${maxSentenceLength} words each` },
    ];
  });
}

/**
 * A sentence ends with a full stop, a question mark or an exclamation mark before a capital letter, a digit or code. `›` ends one too: it
 * separates the name of a test from that of its suite.
 */
export function sentencesOf(text: string): readonly string[] {
  return withoutQuotation(text)
    .replace(/\b(?:e\.g|i\.e|cf|etc|vs|Fig|No)\./gu, (short) => short.replaceAll('.', ''))
    .split(/ › |(?<=[.!?]["'’”)\]*_]*)\s+(?=["'“([*_]*[\p{Lu}\p{N}])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

/** Code counts as one word, a link as its text; what stands in quotation marks of code is not ours to change. */
function withoutQuotation(text: string): string {
  return text
    .replaceAll(/``.+?``|`[^`]*`/gu, 'Code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/gu, '$1')
    .replaceAll(/<?https?:\/\/\S+/gu, 'Link');
}
