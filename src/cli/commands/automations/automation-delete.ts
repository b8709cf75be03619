import { visible } from '#base/text/visible.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';

export const automationDelete = answeringCommand({
  name: 'automations delete',
  summary: 'delete an automation',
  description: ['Delete an automation, which its name or its _id names. Its runs stay.'],
  operands: ['NAME'],
  async answer({ gateway, given }) {
    const { _id, name } = await findAutomation(gateway, given.operand('NAME'));
    await gateway.deleteAutomation({ path: { id: _id } });
    return { value: { _id, name }, lines: [visible(`deleted ${name}`)] };
  },
});
