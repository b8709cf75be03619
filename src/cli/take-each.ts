import { visible } from '#base/visible.ts';
import { GatewayError } from '#client/gateway.ts';
import type { CommandContext } from './command.ts';
import type { GatewaySession } from './gateway-session.ts';
import { program } from './help.ts';
import { print } from './output.ts';

interface Taking {
  /** For a refusal. */
  readonly name: string;
  /** Resolves with the names of what was taken. */
  readonly take: () => Promise<readonly string[]>;
}

/**
 * Takes one after the other, and prints the names of what was taken. A refusal of one keeps none of the others from being taken. Resolves with the
 * exit code.
 */
export async function takeEach(
  takings: readonly Taking[],
  {
    context,
    wordsFor,
    command,
  }: Pick<GatewaySession, 'wordsFor'> & { readonly context: CommandContext; readonly command: string },
): Promise<number> {
  let code = 0;
  for (const { name, take } of takings) {
    try {
      for (const taken of await take()) await print(context.stdout, `${visible(taken)}\n`);
    } catch (error) {
      if (!(error instanceof GatewayError) || (error.status !== 403 && error.status !== 404)) throw error;
      context.stderr.write(`${program} ${command}: ${visible(name)}: ${wordsFor(error)}\n`);
      code = 1;
    }
  }
  return code;
}
