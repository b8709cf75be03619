import { GatewayError } from '#base/gateway-error.ts';
import type { Command, CommandContext, StoredCatalogue } from '../command.ts';
import { configFileOption } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { OutputFailed, print } from '../output.ts';
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
    try {
      const automations = await context.withCatalogue(loaded.config, 'read', (catalogue) => printAll(context, catalogue));
      context.stderr.write(`exported ${counted(automations, 'automation')}\n`);
      return 0;
    } catch (error) {
      if (error instanceof OutputFailed && error.readerLeft) return 0;
      if (!(error instanceof GatewayError || error instanceof OutputFailed)) throw error;
      context.stderr.write(`${program} export: ${error.message}\nWhat was printed is not the whole catalogue.\n`);
      return 1;
    }
  },
};

async function printAll(context: CommandContext, catalogue: StoredCatalogue): Promise<number> {
  const { stdout, stderr, printsToTerminal, progressColumns } = context;
  // Among the documents on the same screen it would only be in the way.
  const progress = createProgressLine({ stderr, columns: printsToTerminal ? undefined : progressColumns });
  let [lines, bytes] = [0, 0];
  try {
    for await (const documents of catalogue.export()) {
      const block = Buffer.from(documents.map((document) => `${document}\n`).join(''));
      await print(stdout, block);
      lines += documents.length;
      bytes += block.length;
      progress.show((elapsed) => flow({ lines, bytes, elapsed }));
    }
    return lines;
  } finally {
    progress.clear();
  }
}
