import type { Answer, AnsweredQuestion } from './answers.ts';
import type { Block, Cost } from './measure.ts';
import { viewers } from './questions.ts';

/** Milliseconds for the answer to any question. */
const answerMark = 100;

const columns = viewers.flatMap(({ name }) => [`${name} ↑`, `${name} ↓`]);

/** The head of the table that `answerRow` fills. */
export const answerHead = tableHead(['median ms', ...columns, 'slowest', 'matches', 'verdict']);

export function answerRow({ question, answers }: AnsweredQuestion): string {
  const medians = answers.map((answer) => (isMissed(answer) ? `**${shown(answer.median)}**` : shown(answer.median)));
  const slowest = Math.max(...answers.map((answer) => answer.slowest));
  const [admin] = answers;
  return row([
    question.name,
    ...medians,
    shown(slowest),
    (admin?.total ?? 0).toLocaleString('en-US'),
    answers.some(isMissed) ? '**not reached**' : 'reached',
  ]);
}

function isMissed({ median }: Answer): boolean {
  return median >= answerMark;
}

/** Whether every answer came within the mark, in a sentence. */
export function verdictOn(answered: readonly AnsweredQuestion[]): { readonly reached: boolean; readonly text: string } {
  const missed = answered.filter(({ answers }) => answers.some(isMissed));
  const names = missed.map(({ question }) => question.name).join('; ');
  const reached = missed.length === 0;
  const text = `Mark ${answerMark} ms for each of ${answered.length} questions: ${reached ? 'reached' : `**not reached** (${names})`}.`;
  return { reached, text };
}

/** A sentence on the question that blocked the event loop longest. */
export function blockLine(answered: readonly AnsweredQuestion[]): string {
  const [worst] = answered.toSorted((a, b) => b.block.own - a.block.own);
  if (worst === undefined) return '';
  const { block, question } = worst;
  return `The event loop was blocked for ${shownBlock(block)} ms at most (${question.name}).`;
}

export const costHead = tableHead(['what', 's', 'event loop blocked, ms', 'MiB before', 'MiB peak']);

export function costRow(name: string, { seconds, block, before, peak }: Cost): string {
  return row([name, seconds.toFixed(1), shownBlock(block), before.toFixed(0), peak.toFixed(0)]);
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
