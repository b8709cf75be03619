import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { visible } from '#base/visible.ts';
import { loadStoredConfig } from '#config/stored-config.ts';
import type { Command, CommandContext, ImportProgress } from '../command.ts';
import { configFileOption } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { tryPrint } from '../output.ts';
import { counted, createProgressLine, flow, grouped } from '../progress-line.ts';

export const automationImport: Command = {
  name: 'import',
  summary: 'put automations into the catalogue',
  description: [
    'Read automations, one JSON document per line (NDJSON; "-" is standard input), and put them',
    'into the catalogue of the configured store, in steps of 20,000, each of them whole or not',
    'at all. An automation whose _id exists is replaced. Each bad line is reported as',
    'FILE:LINE: /field: what to do; it ends the import, which then names the last line stored.',
    'A gateway may use the store at the same time.',
  ],
  options: { config: configFileOption },
  operands: ['FILE'],
  async run(context, { option, operand }) {
    const loaded = await loadOrReport({ context, file: option('config'), command: 'import', load: loadStoredConfig });
    if (loaded === undefined) return 1;
    const file = operand('FILE');
    return context.untilInterrupted(async (interruption) => {
      const progress = createProgressLine({ stderr: context.stderr, columns: context.progressColumns });
      let stored = 0;
      const report = (lines: readonly string[]): number => {
        progress.clear();
        for (const line of lines) context.stderr.write(`${line}\n`);
        return 1;
      };
      try {
        const source = reading({ context, file, interruption });
        const { imported, replaced } = await context.withCatalogue(loaded.config, 'write', (catalogue) =>
          catalogue.import(source, {
            interruption,
            onProgress: (state) => progress.show((elapsed) => progressText(state, elapsed)),
            onStored: (line) => {
              stored = line;
            },
          }),
        );
        progress.clear();
        const result = `imported ${counted(imported, 'automation')}, ${grouped(replaced)} of them replaced`;
        const outputError = await tryPrint(context.stdout, `${result}\n`);
        if (outputError !== undefined) context.stderr.write(`${program} import: ${result}; ${outputError.message}\n`);
        if (imported > 0) context.stderr.write(`${program} import: ${notDue}\n`);
        return 0;
      } catch (error) {
        const rest = stored === 0 ? [] : [`${program} import: the lines up to ${stored} are stored`];
        if (error instanceof GatewayError) return report([...errorLines(error, file), ...rest]);
        if (error instanceof UnreadableFile) return report([`${program} import: ${error.message}`, ...rest]);
        const kept = stored === 0 ? 'nothing was changed' : `the lines up to ${stored} are stored`;
        if (interruption.aborted) return report([`${program} import: interrupted; ${kept}`]);
        throw error;
      }
    });
  },
};

/** The command has no principal that could answer for them. */
const notDue =
  'what is new or changed has no author, and is not due until a person takes it: automations take NAME, at a running gateway';

function progressText({ step, lines, bytes }: ImportProgress, elapsed: number): string {
  return step === 'reading' ? `reading: ${flow({ lines, bytes, elapsed })}` : `writing: ${counted(lines, 'automation')}`;
}

/** The file itself has a problem; the message says which. */
class UnreadableFile extends Error {}

interface ReadingOptions {
  readonly context: CommandContext;
  readonly file: string;
  readonly interruption: AbortSignal;
}

async function* reading({ context, file, interruption }: ReadingOptions): AsyncGenerator<Buffer, void, undefined> {
  try {
    const stream = file === '-' ? context.stdin : await openedForReading(resolve(context.cwd, file));
    for await (const chunk of addAbortSignal(interruption, stream)) yield Buffer.from(chunk as Uint8Array | string);
  } catch (error) {
    if (interruption.aborted) throw error;
    throw new UnreadableFile(whyUnreadable(file, error), { cause: error });
  }
}

async function openedForReading(fileName: string): Promise<Readable> {
  const handle = await open(fileName);
  return handle.createReadStream({ highWaterMark: 256 * 1024 });
}

function whyUnreadable(file: string, error: unknown): string {
  const code = systemCode(error) ?? 'unknown error';
  if (code === 'ENOENT') return `${file} does not exist`;
  if (code === 'EISDIR') return `${file} is a directory`;
  return `${nameOf(file)} cannot be read (${code})`;
}

function nameOf(file: string): string {
  return file === '-' ? '<stdin>' : file;
}

/** One line for each bad line, in the format of compilers, then the message of the error. */
function errorLines({ message, errors = [] }: GatewayError, file: string): readonly string[] {
  const lines = errors.map(({ pointer, detail }) => {
    const [, line = '', field = ''] = /^\/([0-9]+)(\/.*)?$/su.exec(pointer) ?? [];
    const where = line === '' ? pointer : `${nameOf(file)}:${line}:${field === '' ? '' : ` ${field}:`}`;
    // Control characters of the file must not reach the terminal.
    return visible(`${where} ${detail.replace(/^line [0-9]+: /u, '')}`);
  });
  return [...lines, `${program} import: ${message}`];
}
