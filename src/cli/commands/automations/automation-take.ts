import type { Gateway } from '#client/gateway.ts';
import { CommandFailed } from '../../gateway-session.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';
import { takingCommand } from '../../take-each.ts';

interface Taken {
  readonly _id: string;
  readonly name: string;
}

export const automationTake = takingCommand({
  name: 'automations take',
  summary: 'take over automations that a person left behind',
  description: [
    'Take over an automation, which its name or its _id names: you become the author of all that it says,',
    'and its scheduler. With --from instead, take over every automation of which a principal is an author',
    'or the scheduler. You need the right to write their workflows.',
  ],
  options: { from: { value: 'PRINCIPAL', default: '', meaning: 'every automation of this principal: its id or its name' } },
  operands: ['[NAME…]'],
  async takings({ gateway, given }) {
    const from = given.option('from');
    const names = given.operands('[NAME…]');
    if ((from === '') === (names.length === 0)) throw new CommandFailed('give either the names of automations or --from', 2);
    const wanted =
      from === '' ? await Promise.all(names.map((name) => findAutomation(gateway, name))) : await behind(gateway, from);
    return wanted.map(({ _id, name }) => ({
      name,
      take: async () => [(await gateway.takeAutomation({ path: { id: _id } })).value.name],
    }));
  },
});

async function behind(gateway: Gateway, principal: string): Promise<readonly Taken[]> {
  const found = new Map<string, Taken>();
  for (const kind of ['author', 'scheduler'] as const) {
    for await (const { _id, name } of gateway.each.listAutomations({ query: { [kind]: principal, limit: 1000 } }))
      found.set(_id, { _id, name });
  }
  return [...found.values()];
}
