import type { Command } from '../../command.ts';
import { print } from '../../output.ts';
import { completionScript } from '../../texts/completion-script.ts';

const shells = ['bash', 'zsh'];

/** `commands`: all of the program. */
export function shellCompletion(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'print the completion of commands and options for a shell',
    description: ['Print a script for bash or zsh. To use it in this shell: source <(orchestration-gateway completion bash)'],
    options: {},
    operands: ['SHELL'],
    async run({ stdout, stderr }, given) {
      const shell = given.operand('SHELL');
      if (!shells.includes(shell)) {
        stderr.write(`orchestration-gateway completion: SHELL is none of ${shells.join(', ')}\n`);
        return 2;
      }
      await print(stdout, completionScript(commands(), shell === 'zsh'));
      return 0;
    },
  };
}
