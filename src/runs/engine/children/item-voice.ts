import { firstBytes, maxTextLength } from '#base/text/cut-text.ts';
import type { ItemReport } from '../../journal/batches/batch-records.ts';
import type { ClaimedRun, RunWrite } from '../../journal/run-records.ts';
import { isItem } from './child-runs.ts';

/** What a run in a batch tells with its writes: what became of its item, and the batch that something changed. */
export class ItemVoice {
  readonly #run: Pick<ClaimedRun, 'item' | 'parent'>;
  #isUndecided: boolean;
  /** What the store has by this holder. */
  #told: string | undefined;

  constructor(run: Pick<ClaimedRun, 'item' | 'parent' | 'suspendedBy'>) {
    this.#run = run;
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
      ...(isOwn && { runStatus: write.status, ...(hasEnded && textsOf(write)) }),
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
function textsOf({ output, error }: RunWrite): Pick<ItemReport, 'output' | 'error' | 'isCut'> {
  if (error !== undefined) {
    const { text, isCut } = cut(JSON.stringify(error));
    return { error: text, isCut };
  }
  if (output === undefined) return {};
  const { text, isCut } = cut(output);
  return { output: text, isCut };
}

function cut(text: string): { readonly text: string; readonly isCut: boolean } {
  const isCut = Buffer.byteLength(text) > maxTextLength;
  return { text: isCut ? JSON.stringify(firstBytes(text, maxTextLength)) : text, isCut };
}
