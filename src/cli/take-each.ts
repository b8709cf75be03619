import { visible } from '#base/text/visible.ts';
import { GatewayError } from '#client/gateway.ts';
import type { Command } from './command.ts';
import { answeringCommand } from './gateway-command.ts';
import type { GatewaySession } from './gateway-session.ts';

interface Taking {
  /** For a refusal. */
  readonly name: string;
  /** Resolves with the names of what was taken. */
  readonly take: () => Promise<readonly string[]>;
}

type TakingCommand = Omit<Parameters<typeof answeringCommand>[0], 'answer'> & {
  /** All of them before the first is taken, which changes the pages. */
  readonly takings: (session: GatewaySession) => Promise<readonly Taking[]>;
};

/** Takes one after the other, and prints the names of what was taken. A refusal of one keeps none of the others from being taken. */
export function takingCommand({ takings, ...command }: TakingCommand): Command {
  return answeringCommand({
    ...command,
    async answer(session) {
      const { complain, wordsFor } = session;
      const taken: string[] = [];
      let exitCode = 0;
      for (const { name, take } of await takings(session)) {
        try {
          taken.push(...(await take()));
        } catch (error) {
          if (!(error instanceof GatewayError) || (error.status !== 403 && error.status !== 404)) throw error;
          complain(`${visible(name)}: ${wordsFor(error)}`);
          exitCode = 1;
        }
      }
      return { value: taken, lines: taken.map(visible), exitCode };
    },
  });
}
