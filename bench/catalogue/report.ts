import type { Answer, AnsweredQuestion } from './answers.ts';
import type { Block, Cost } from './measure.ts';
import { viewers } from './questions.ts';

/** Milliseconds that any work may block the event loop; seconds for an import of 100,000 documents. */
const blockMark = 5;
const importMark = 20;

const columns = viewers.flatMap(({ name }) => [`${name} ↑`, `${name} ↓`]);

/** The head of the table that `answerRow` fills. */
export const answerHead = tableHead(['median ms', ...columns, 'slowest', 'matches', 'mark', 'verdict']);

export function answerRow({ question, answers }: AnsweredQuestion): string {
  const { name, mark } = question;
  const missed = answers.filter((answer) => isMissed(answer, mark));
  const medians = answers.map((answer) => (isMissed(answer, mark) ? `**${shown(answer.median)}**` : shown(answer.median)));
  const slowest = Math.max(...answers.map((answer) => answer.slowest));
  const verdict = missed.length > 0 ? '**not reached**' : 'reached';
  const [admin] = answers;
  return row([
    name,
    ...medians,
    shown(slowest),
    (admin?.total ?? 0).toLocaleString('en-US'),
    mark === undefined ? '–' : mark.all === mark.some ? String(mark.all) : `${mark.all} / ${mark.some}`,
    mark === undefined ? '–' : verdict,
  ]);
}

/** Callers who see only some documents have marks of their own. */
function isMissed({ viewer, median }: Answer, mark: AnsweredQuestion['question']['mark']): boolean {
  return mark !== undefined && median >= (viewer === 'admin' ? mark.all : mark.some);
}

/** A sentence on the question that blocked the event loop longest. */
export function blockLine(answered: readonly AnsweredQuestion[]): string {
  const [worst] = answered.toSorted((a, b) => b.block.own - a.block.own);
  if (worst === undefined) return '';
  const { block, question } = worst;
  return `The event loop was blocked for ${shownBlock(block)} ms at most (${question.name}); mark ${blockMark} ms: ${verdictOf(block.own <= blockMark)}.`;
}

export const costHead = tableHead(['what', 's', 'event loop blocked, ms', 'MiB before', 'MiB peak', 'mark', 'verdict']);

export function importRow(name: string, { seconds, block, before, peak }: Cost): string {
  return row([
    name,
    seconds.toFixed(1),
    shownBlock(block),
    before.toFixed(0),
    peak.toFixed(0),
    `${importMark} s, ${blockMark} ms`,
    verdictOf(seconds < importMark && block.own <= blockMark),
  ]);
}

export function exportRow(name: string, { seconds, block, before, peak }: Cost): string {
  return row([
    name,
    seconds.toFixed(1),
    shownBlock(block),
    before.toFixed(0),
    peak.toFixed(0),
    `${blockMark} ms`,
    verdictOf(block.own <= blockMark),
  ]);
}

function verdictOf(reached: boolean): string {
  return reached ? 'reached' : '**not reached**';
}

/** The thread's processor time, and the wall-clock time in brackets. */
function shownBlock({ own, clock }: Block): string {
  return `${shown(own)} (${shown(clock)})`;
}

/** Two or three significant digits. */
function shown(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 1 : 0);
}

function tableHead(cells: readonly string[]): string {
  return `${row(cells)}\n${row(cells.map((_, index) => (index === 0 ? '---' : '---:')))}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
