import { answeringCommand } from '../../gateway-command.ts';

export const formDelete = answeringCommand({
  name: 'forms delete',
  summary: 'delete a form',
  description: ['Delete a form that no automation names.'],
  operands: ['ID'],
  async answer({ gateway, given }) {
    const id = given.operand('ID');
    await gateway.deleteForm({ path: { id } });
    return { value: { id }, lines: [`deleted ${id}`] };
  },
});
