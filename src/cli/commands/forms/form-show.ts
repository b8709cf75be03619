import { visibleLines } from '#base/text/visible.ts';
import { gatewayCommand } from '../../gateway-command.ts';
import { print } from '../../output.ts';

export const formShow = gatewayCommand({
  name: 'forms show',
  summary: 'print a form',
  description: ['Print a form as it was stored, byte for byte where standard output is no terminal.'],
  flags: { json: 'the same: a form is JSON' },
  operands: ['ID'],
  async work({ context: { stdout, printsToTerminal }, gateway, given }) {
    const { text } = await gateway.readForm({ path: { id: given.operand('ID') } });
    await print(stdout, printsToTerminal ? `${visibleLines(text).join('\n')}\n` : text);
    return 0;
  },
});
