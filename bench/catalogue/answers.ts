import type { ListOptions } from '../../src/automations/list-options.ts';
import type { AutomationStore } from '../../src/automations/store/automation-store.ts';
import { median } from '../figures.ts';
import { type Block, costOf, timesOf } from './measure.ts';
import { type Question, questions, type Viewer, viewers } from './questions.ts';

/** The times of one question for one caller in one order. */
export interface Answer {
  readonly viewer: Viewer['name'];
  readonly order: ListOptions['order'];
  /** Milliseconds. */
  readonly median: number;
  readonly slowest: number;
  readonly total: number;
}

export interface AnsweredQuestion {
  readonly question: Question;
  readonly answers: readonly Answer[];
  readonly block: Block;
}

interface AskOptions {
  readonly runs: number;
  readonly interruption: AbortSignal;
  readonly onAnswer: (answered: AnsweredQuestion) => void;
}

/** Asks every question for every caller, in both orders. */
export async function askAll(store: AutomationStore, { runs, interruption, onAnswer }: AskOptions): Promise<void> {
  for (const question of questions) {
    const { result: answers, cost } = await costOf(async () => {
      const given: Answer[] = [];
      for (const viewer of viewers) {
        for (const order of [1, -1] as const) {
          interruption.throwIfAborted();
          given.push(await ask(store, { question, viewer, order, runs }));
        }
      }
      return given;
    });
    onAnswer({ question, answers, block: cost.block });
  }
}

async function ask(
  store: AutomationStore,
  asked: { readonly question: Question; readonly viewer: Viewer; readonly order: ListOptions['order']; readonly runs: number },
): Promise<Answer> {
  const { question, viewer, order, runs } = asked;
  const list = (options: Omit<ListOptions, 'order'>): ReturnType<AutomationStore['list']> =>
    store.list({ options: { ...options, order }, viewer });
  const { total } = await list({ ...question.options(0), limit: 0 });
  const options = question.options(total);
  const times = await timesOf(runs, () => list(options));
  return { viewer: viewer.name, order, median: median(times), slowest: Math.max(...times), total };
}
