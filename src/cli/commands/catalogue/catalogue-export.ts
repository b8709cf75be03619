import { gatewayCommand, givenOptions } from '../../gateway-command.ts';
import { CommandFailed } from '../../gateway-session.ts';
import { print } from '../../output.ts';
import { counted, createProgressLine, flow } from '../../texts/progress-line.ts';

const kinds = ['form', 'workflow', 'automation'] as const;

export const catalogueExport = gatewayCommand({
  name: 'export',
  summary: 'print the catalogue: forms, workflows and automations',
  description: [
    'Print a snapshot of the catalogue as one JSON document per line (NDJSON): the forms, each version of',
    'each workflow, and the automations. "import" stores them in another gateway, but for their people.',
  ],
  options: { kind: { value: 'KIND', default: '', meaning: 'only form, workflow or automation', values: kinds } },
  async work({ context, gateway, given }) {
    const { stdout, stderr, printsToTerminal, progressColumns } = context;
    // On a terminal the progress line would mix with the documents.
    const progress = createProgressLine({ stderr, columns: printsToTerminal ? undefined : progressColumns });
    const response = await gateway.open('exportAutomations', {
      query: givenOptions<{ readonly kind?: string }>(given, ['kind']),
    });
    let [lines, bytes] = [0, 0];
    try {
      for await (const piece of response.body ?? []) {
        const block = Buffer.from(piece);
        await print(stdout, block);
        bytes += block.length;
        for (const byte of block) if (byte === 0x0a) lines += 1;
        progress.show((elapsed) => flow({ lines, bytes, elapsed }));
      }
    } catch (error) {
      // The fetch of Node says so where the transfer coding has no end.
      if (error instanceof TypeError) throw new CommandFailed('the gateway broke off; the printed catalogue is incomplete');
      throw error;
    } finally {
      progress.clear();
    }
    stderr.write(`exported ${counted(lines, 'document')}\n`);
    return 0;
  },
});
