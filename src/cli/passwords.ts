import { randomInt } from 'node:crypto';
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

interface AskOptions {
  readonly stdin: Readable;
  /** For the prompts, because standard output is for the result. */
  readonly stderr: Writable;
  readonly prompts: readonly string[];
}

/** Reads one line for each prompt from a terminal without echo. Returns fewer lines if the person stops (Ctrl-C, Ctrl-D). */
export async function askPasswords({ stdin, stderr, prompts }: AskOptions): Promise<readonly string[]> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // `terminal` puts the terminal into raw mode, so that readline echoes the input, here to a stream that discards it.
  const reader = createInterface({ input: stdin, output: silent, terminal: true, historySize: 0 });
  const lines = reader[Symbol.asyncIterator]();
  const answers: string[] = [];
  try {
    for (const prompt of prompts) {
      stderr.write(prompt);
      const line = await lines.next();
      stderr.write('\n');
      if (line.done === true) break;
      answers.push(line.value);
    }
    return answers;
  } finally {
    reader.close();
  }
}

/**
 * Without characters that are easily confused when read aloud or typed (0 O, 1 l I), and without special characters of shells.
 */
const alphabet = '23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ';

/** A password of 22 characters, with about 128 bits of entropy. */
export function generatedPassword(): string {
  return Array.from({ length: 22 }, () => alphabet[randomInt(alphabet.length)]).join('');
}
