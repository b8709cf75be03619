import type { Writable } from 'node:stream';
import { GatewayError } from '#base/gateway-error.ts';
import type { Command, CommandContext, StoredCatalogue } from '../command.ts';
import { configFileOption } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { counted, createProgressLine, flow } from '../progress-line.ts';

export const automationExport: Command = {
  name: 'export',
  summary: 'print every automation of the catalogue',
  description: [
    'Print the catalogue of the configured store to standard output as it is at one moment,',
    'one JSON document a line (NDJSON), by name. "import" takes it in again, byte for byte.',
    'A gateway may be running on the store.',
  ],
  options: { config: configFileOption },
  operands: [],
  async run(context, { option }) {
    const loaded = await loadOrReport(context, option('config'), 'export');
    if (loaded === undefined) return 1;
    // A reader that leaves is told by the write that it misses; unheard, the event would end the process with a stack trace.
    context.stdout.on('error', () => {});
    try {
      const automations = await context.withCatalogue(loaded.config, (catalogue) => print(context, catalogue));
      context.stderr.write(`exported ${counted(automations, 'automation')}\n`);
      return 0;
    } catch (error) {
      const code = codeOf(error);
      // "| head" has what it wanted.
      if (code === 'EPIPE') return 0;
      if (!(error instanceof GatewayError) && code === undefined) throw error;
      const why = error instanceof GatewayError ? error.message : `standard output cannot be written (${code})`;
      context.stderr.write(`${program} export: ${why}\nWhat was printed is not the whole catalogue.\n`);
      return 1;
    }
  },
};

async function print(context: CommandContext, catalogue: StoredCatalogue): Promise<number> {
  const { stdout, stderr, printsToTerminal, progressColumns } = context;
  // Among the documents on the same screen it would only be in the way.
  const progress = createProgressLine({ stderr, columns: printsToTerminal ? undefined : progressColumns });
  let [lines, bytes] = [0, 0];
  try {
    for await (const documents of catalogue.export()) {
      const block = Buffer.from(documents.map((document) => `${document}\n`).join(''));
      await write(stdout, block);
      lines += documents.length;
      bytes += block.length;
      progress.show((elapsed) => flow({ lines, bytes, elapsed }));
    }
    return lines;
  } finally {
    progress.clear();
  }
}

function write(stdout: Writable, block: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stdout.write(block, (error) => (error ? reject(error) : resolve()));
  return promise;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && !(error instanceof GatewayError) ? String(error.code) : undefined;
}
