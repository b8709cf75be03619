import { answeringCommand } from '../../gateway-command.ts';
import { CommandFailed } from '../../gateway-session.ts';

export const workflowDelete = answeringCommand({
  name: 'workflows delete',
  summary: 'delete a version of a workflow',
  description: ['Delete a version of a workflow, or with --all every version. An automation that names it keeps it.'],
  options: { version: { value: 'VERSION', default: '', meaning: 'the version to delete' } },
  flags: { all: 'delete every version' },
  operands: ['ID'],
  async answer({ gateway, given }) {
    const [id, version] = [given.operand('ID'), given.option('version')];
    if ((version === '') !== given.flag('all')) throw new CommandFailed('give either --version or --all', 2);
    await gateway.deleteWorkflow({ path: { id }, query: version === '' ? {} : { version } });
    return { value: { id, ...(version !== '' && { version }) }, lines: [`deleted ${id}${version === '' ? '' : ` ${version}`}`] };
  },
});
