import type { Gateway } from '#client/gateway.ts';
import { findAutomation } from '../automation-lookup.ts';
import type { Command } from '../command.ts';
import { CommandFailed, gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { takeEach } from '../take-each.ts';

interface Taken {
  readonly _id: string;
  readonly name: string;
}

export const automationTake: Command = {
  name: 'automations take',
  summary: 'take over automations that a person left behind',
  description: [
    'Take over an automation, which its exact name or its _id names: you become the author of all that',
    'it says, and its scheduler. With --from instead, take over every automation of which a principal is',
    'an author or the scheduler. You need the right to write their workflows.',
    '',
    ...loginWords,
  ],
  options: {
    ...gatewayOptions,
    from: { value: 'PRINCIPAL', default: '', meaning: 'every automation of this principal: its id or its name' },
  },
  operands: ['[NAME…]'],
  run: (context, given) =>
    withSession({ context, given, command: 'automations take' }, async ({ gateway, wordsFor }) => {
      const from = given.option('from');
      const names = given.operands('[NAME…]');
      if ((from === '') === (names.length === 0)) throw new CommandFailed('give either the names of automations or --from');
      const wanted =
        from === '' ? await Promise.all(names.map((name) => findAutomation(gateway, name))) : await behind(gateway, from);
      const takings = wanted.map(({ _id, name }) => ({
        name,
        take: async () => [(await gateway.takeAutomation({ path: { id: _id } })).value.name],
      }));
      return await takeEach(takings, { context, wordsFor, command: 'automations take' });
    }),
};

/** All of them before the first is taken, which changes the pages. */
async function behind(gateway: Gateway, principal: string): Promise<readonly Taken[]> {
  const found = new Map<string, Taken>();
  for (const kind of ['author', 'scheduler'] as const) {
    for await (const { _id, name } of gateway.each.listAutomations({ query: { [kind]: principal, limit: 1000 } }))
      found.set(_id, { _id, name });
  }
  return [...found.values()];
}
