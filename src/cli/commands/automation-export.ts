import { GatewayError } from '#base/gateway-error.ts';
import { loadStoredConfig } from '#config/stored-config.ts';
import type { Command, CommandContext, StoredCatalogue } from '../command.ts';
import { configFileArgument } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { OutputFailed, print } from '../output.ts';
import { counted, createProgressLine, flow } from '../progress-line.ts';

export const automationExport: Command = {
  name: 'export',
  summary: 'print every automation of the catalogue',
  description: [
    'Print a snapshot of the catalogue of the configured store to standard output, by name and as',
    'one JSON document per line (NDJSON). "import" restores each, but for its people.',
    'A gateway may use the store at the same time.',
  ],
  ...configFileArgument,
  async run(context, { option }) {
    const loaded = await loadOrReport({ context, file: option('config'), command: 'export', load: loadStoredConfig });
    if (loaded === undefined) return 1;
    try {
      const automations = await context.withCatalogue(loaded.config, 'read', (catalogue) => printAll(context, catalogue));
      context.stderr.write(`exported ${counted(automations, 'automation')}\n`);
      return 0;
    } catch (error) {
      if (error instanceof OutputFailed && error.readerLeft) return 0;
      if (!(error instanceof GatewayError || error instanceof OutputFailed)) throw error;
      context.stderr.write(`${program} export: ${error.message}\nThe printed catalogue is incomplete.\n`);
      return 1;
    }
  },
};

async function printAll(context: CommandContext, catalogue: StoredCatalogue): Promise<number> {
  const { stdout, stderr, printsToTerminal, progressColumns } = context;
  // On a terminal the progress line would mix with the documents.
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
