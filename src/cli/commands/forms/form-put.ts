import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { readFile } from '../../read-file.ts';

/** Bytes, as in the gateway. */
const formLimit = 65_536;

export const formPut = answeringCommand({
  name: 'forms store',
  summary: 'store a form',
  description: ['Store a form, a JSON Schema in a file, under an id. It replaces the form with that id.'],
  operands: ['ID', 'FILE'],
  async answer({ context, gateway, given }) {
    const id = given.operand('ID');
    const rawBody = await readFile(context, given.operand('FILE'), formLimit);
    const reply = await gateway.putForm({ path: { id }, rawBody });
    return { value: exact(reply), lines: [`${reply.status === 201 ? 'created' : 'replaced'} ${id}`] };
  },
});
