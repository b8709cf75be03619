import type { Gateway } from '#client/gateway.ts';
import { CommandFailed } from '../../gateway-session.ts';
import { takingCommand } from '../../take-each.ts';

/** Without a version all of them. */
interface Wanted {
  readonly id: string;
  readonly version?: string;
}

export const workflowTake = takingCommand({
  name: 'workflows take',
  summary: 'take over workflows that a person left behind',
  description: [
    'Take over a workflow, which its id names, in all its versions or in one: its calls count by your',
    'rights from now on. With --from instead, take over every version whose calls count by the rights of a',
    'principal. You need the right to write these workflows.',
  ],
  options: {
    version: { value: 'VERSION', default: '', meaning: 'only this version' },
    from: { value: 'PRINCIPAL', default: '', meaning: 'every version of this principal: its id or its name' },
  },
  operands: ['[ID]'],
  async takings({ gateway, given }) {
    const [id, from, version] = [given.operand('[ID]'), given.option('from'), given.option('version')];
    if ((from === '') === (id === '')) throw new CommandFailed('give either the id of a workflow or --from', 2);
    if (id === '' && version !== '') throw new CommandFailed('--version goes with the id of a workflow', 2);
    const wanted = id === '' ? await behind(gateway, from) : [{ id, ...(version !== '' && { version }) }];
    return wanted.map(({ id: name, ...query }) => ({
      name: [name, ...Object.values(query)].join(' '),
      async take() {
        const { value } = await gateway.takeWorkflow({ path: { id: name }, query });
        return value.versions.map((taken) => `${name} ${taken}`);
      },
    }));
  },
});

async function behind(gateway: Gateway, storer: string): Promise<readonly Wanted[]> {
  const found: Wanted[] = [];
  for await (const { id, versions } of gateway.each.listWorkflows({ query: { storer, limit: 1000 } }))
    found.push(...versions.map((version) => ({ id, version })));
  return found;
}
