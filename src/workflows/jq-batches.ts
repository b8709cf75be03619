import { setImmediate } from 'node:timers/promises';
import type { JqRequest } from './jq-worker.ts';

/** `failed`: the program took too long or too much memory, and its thread was ended. */
export type JqEnd =
  | { readonly kind: 'ended'; readonly stdout: string; readonly stderr: string; readonly exitCode: number }
  | { readonly kind: 'failed'; readonly detail: string };

/** `request` is called once there is a thread for it. */
type RunJq = (request: () => JqRequest, person?: string) => Promise<JqEnd>;

interface BatchedInput {
  readonly program: string;
  /** JSON text. */
  readonly input: string;
  /** Lines of output that the program gives for each input. */
  readonly lines: number;
  /** Inputs of different persons are in no batch together. */
  readonly person?: string | undefined;
}

interface Batch {
  readonly inputs: string[];
  characters: number;
  readonly end: Promise<JqEnd>;
}

const inputsAtMost = 32;
/** An input that makes a batch longer waits for the next one, so that a batch takes little of the time limit. */
const charactersAtMost = 65_536;

/**
 * Inputs of the same program that wait for a thread go into one jq. It takes a millisecond to start and some microseconds for a short input.
 * A program sees one input alone, since it has no function that reads the next one.
 */
export class JqBatches {
  readonly #runJq: RunJq;
  /** By person and program, those that can take a further input. */
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
    // Evaluations change nothing, so that each can be repeated alone where one of them ended all.
    return partOf(end, { index, inputs: batch.inputs.length, lines }) ?? this.#runJq(() => ({ program, input }), person);
  }

  #batchFor(program: string, { length }: string, person: string | undefined): Batch {
    const key = `${person ?? ''}\0${program}`;
    const known = this.#waiting.get(key);
    if (known !== undefined && known.inputs.length < inputsAtMost && known.characters + length <= charactersAtMost) return known;
    const inputs: string[] = [];
    const close = (): void => {
      if (this.#waiting.get(key) === batch) this.#waiting.delete(key);
    };
    // Runs that were claimed or written together evaluate in the same iteration of the event loop.
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

/** The output for one input; undefined where the output is not that of all inputs. */
function partOf(
  end: JqEnd,
  { index, inputs, lines }: { readonly index: number; readonly inputs: number; readonly lines: number },
): JqEnd | undefined {
  if (end.kind !== 'ended' || end.stderr !== '') return undefined;
  const all = end.stdout.split('\n');
  if (all.length !== inputs * lines) return undefined;
  return { ...end, stdout: all.slice(index * lines, (index + 1) * lines).join('\n') };
}
