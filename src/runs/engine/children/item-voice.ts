import { firstBytes, maxTextLength } from '#base/text/cut-text.ts';
import type { ItemReport } from '../../journal/batches/batch-records.ts';
import type { ClaimedRun, RunWrite } from '../../journal/run-records.ts';
import { isItem } from './child-runs.ts';

type Shown = (jsonText: string) => string;

/** What a run in a batch tells with its writes: what became of its item, and the batch that something changed. */
export class ItemVoice {
  readonly #run: Pick<ClaimedRun, 'item' | 'parent'>;
  #isUndecided: boolean;
  /** What the store has by this holder. */
  #told: string | undefined;

  readonly #shown: Shown;

  /** `shown`: a JSON text as readers see it. */
  constructor(run: Pick<ClaimedRun, 'item' | 'parent' | 'suspendedBy'>, shown: Shown = (text) => text) {
    this.#run = run;
    this.#shown = shown;
    this.#isUndecided = run.suspendedBy === 'unknown-outcome';
  }

  /** `isUndecided`: the run waits for a decision about a call. */
  add(write: RunWrite, isUndecided: boolean): RunWrite {
    const { item } = this.#run;
    if (item === undefined) return write;
    const hasEnded = write.endedAt !== undefined;
    const isOwn = isItem(this.#run);
    const report: ItemReport = {
      ...item,
      isUndecided: isUndecided && !hasEnded,
      ...(isOwn && { runStatus: write.status, ...(hasEnded && textsOf(write, this.#shown)) }),
    };
    const tells = report.isUndecided !== this.#isUndecided || (isOwn && hasEnded);
    this.#isUndecided = report.isUndecided;
    const text = `${report.runStatus} ${report.isUndecided}`;
    if (text === this.#told) return write;
    this.#told = text;
    const commands = tells ? [...write.commands, { run: item.run, command: { kind: 'items-changed' } } as const] : write.commands;
    return { ...write, item: report, commands };
  }
}

/** Of a long output or error the beginning of its JSON text, as a string. */
function textsOf({ output, error }: RunWrite, shown: Shown): Pick<ItemReport, 'output' | 'error' | 'isCut'> {
  if (error !== undefined) {
    const { text, isCut } = cut(JSON.stringify(error), shown);
    return { error: text, isCut };
  }
  if (output === undefined) return {};
  const { text, isCut } = cut(output, shown);
  return { output: text, isCut };
}

/** The text is masked first: a value may lie across the end, and a text that is cut has no names of members. */
function cut(text: string, shown: Shown): { readonly text: string; readonly isCut: boolean } {
  const isCut = Buffer.byteLength(text) > maxTextLength;
  return { text: isCut ? JSON.stringify(firstBytes(shown(text), maxTextLength)) : text, isCut };
}
