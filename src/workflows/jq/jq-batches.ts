import { setImmediate } from 'node:timers/promises';
import type { JqRequest } from './jq-worker.ts';

/** `failed`: too long or too much memory; the thread was ended. */
export type JqEnd =
  | { readonly kind: 'ended'; readonly stdout: string; readonly stderr: string; readonly exitCode: number }
  | { readonly kind: 'failed'; readonly detail: string };

/** Calls `request` once a thread is free. */
type RunJq = (request: () => JqRequest, person?: string) => Promise<JqEnd>;

interface BatchedInput {
  readonly program: string;
  readonly input: string;
  readonly lines: number;
  readonly person?: string | undefined;
}

interface Batch {
  readonly inputs: string[];
  characters: number;
  readonly end: Promise<JqEnd>;
}

const maxInputs = 32;
/** A longer batch would take too much of the time limit. */
const maxCharacters = 65_536;

/** Joins waiting inputs of one program, since jq takes a millisecond to start. No function lets a program read the next input. */
export class JqBatches {
  readonly #runJq: RunJq;
  readonly #waiting = new Map<string, Batch>();

  constructor(runJq: RunJq) {
    this.#runJq = runJq;
  }

  async run({ program, input, lines, person }: BatchedInput): Promise<JqEnd> {
    const batch = this.#batchFor(program, input, person);
    const index = batch.inputs.push(input) - 1;
    batch.characters += input.length;
    const end = await batch.end;
    if (batch.inputs.length === 1) return end;
    // Each can be repeated alone, since evaluations change nothing.
    return partOf(end, { index, inputs: batch.inputs.length, lines }) ?? this.#runJq(() => ({ program, input }), person);
  }

  #batchFor(program: string, { length }: string, person: string | undefined): Batch {
    const key = `${person ?? ''}\0${program}`;
    const known = this.#waiting.get(key);
    if (known !== undefined && known.inputs.length < maxInputs && known.characters + length <= maxCharacters) return known;
    const inputs: string[] = [];
    const close = (): void => {
      if (this.#waiting.get(key) === batch) this.#waiting.delete(key);
    };
    // Runs claimed together evaluate in one iteration of the event loop.
    const end = setImmediate().then(() =>
      this.#runJq(() => {
        close();
        return { program, input: inputs.join('\n') };
      }, person),
    );
    // No later input may wait for a thread that did not start.
    end.catch(close);
    const batch: Batch = { inputs, characters: 0, end };
    this.#waiting.set(key, batch);
    return batch;
  }
}

/** Undefined: the output is not that of all inputs. */
function partOf(
  end: JqEnd,
  { index, inputs, lines }: { readonly index: number; readonly inputs: number; readonly lines: number },
): JqEnd | undefined {
  if (end.kind !== 'ended' || end.stderr !== '') return undefined;
  const all = end.stdout.split('\n');
  if (all.length !== inputs * lines) return undefined;
  return { ...end, stdout: all.slice(index * lines, (index + 1) * lines).join('\n') };
}
