import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

interface AskOptions {
  readonly stdin: Readable;
  /** Where the prompts go; standard output stays clean. */
  readonly stderr: Writable;
  readonly prompts: readonly string[];
}

/** One line for each prompt, typed at a terminal, not echoed; fewer where the person gave up (Ctrl-C, Ctrl-D). */
export async function askPasswords({ stdin, stderr, prompts }: AskOptions): Promise<readonly string[]> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // `terminal` puts a real terminal into raw mode: the echo is then readline's, and goes nowhere.
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
