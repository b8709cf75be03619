import { visibleLines } from '#base/text/visible.ts';
import type { ReadWorkflowData } from '#client/gateway.ts';
import { gatewayCommand, givenOptions } from '../../gateway-command.ts';
import { print } from '../../output.ts';

const versionOption = { value: 'VERSION', default: '', meaning: 'this version; without it the newest release' } as const;

export const workflowShow = gatewayCommand({
  name: 'workflows show',
  summary: 'print the document of a workflow',
  description: ['Print the document as it was written, byte for byte where standard output is no terminal.'],
  options: { version: versionOption },
  flags: { json: 'print the document as JSON' },
  operands: ['ID'],
  async work({ context: { stdout, printsToTerminal }, gateway, given }) {
    const headers = { Accept: given.flag('json') ? 'application/json' : 'application/yaml' };
    const query = givenOptions<NonNullable<ReadWorkflowData['query']>>(given, ['version']);
    const { text } = await gateway.readWorkflow({ path: { id: given.operand('ID') }, query, headers });
    await print(stdout, printsToTerminal ? `${visibleLines(text).join('\n')}\n` : text);
    return 0;
  },
});
