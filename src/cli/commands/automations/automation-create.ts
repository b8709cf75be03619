import { visible } from '#base/text/visible.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { readRunInput } from '../../run-input.ts';
import { warningLines } from './warnings.ts';

export const automationCreate = answeringCommand({
  name: 'automations create',
  summary: 'create an automation',
  description: [
    'Create an automation from a file of YAML or JSON ("-" is standard input) with its fields, such as',
    '{ name: Sync, data: { workflowId: lab.sync } }. Print its name and _id.',
  ],
  operands: ['FILE'],
  async answer({ context, gateway, given }) {
    const rawBody = (await readRunInput(context, given.operand('FILE'), 'automation')) ?? '{}';
    const automation = exact(await gateway.createAutomation({ rawBody }));
    const { name, _id } = automation;
    return { value: automation, lines: [visible(`${name}  ${_id}`)], hint: warningLines(automation) };
  },
});
