import type { Command } from '../../command.ts';
import { print } from '../../output.ts';
import { program } from '../../texts/help.ts';

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

/** Words of one place of a command line, after what was typed before it. */
interface Candidates {
  /** A pattern of `case`. */
  readonly after: string;
  readonly words: readonly string[];
}

const zshHead = `autoload -U +X compinit bashcompinit
(( $+functions[compdef] )) || compinit -i
bashcompinit
`;

/** A script for bash, which zsh takes with its bashcompinit. File names complete everywhere else. */
export function completionScript(commands: readonly Command[], isZsh: boolean): string {
  return `${isZsh ? zshHead : ''}_orchestration_gateway() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} name=\${COMP_WORDS[1]} words=
  if [ "$COMP_CWORD" -le 1 ]; then name=; fi
  case "$name" in
    ${groupsOf(commands).join('|')}) if [ "$COMP_CWORD" -gt 2 ]; then name="$name \${COMP_WORDS[2]}"; fi ;;
  esac
  case "$name|$before" in
${values(commands).map(branch).join('')}    *) case "$name" in
${[...firstWords(commands), ...options(commands)].map(branch).join('')}    esac ;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}
complete -o default -F _orchestration_gateway ${program}
`;
}

function branch({ after, words }: Candidates): string {
  return `    ${after}) words="${words.join(' ')}" ;;\n`;
}

function groupsOf(commands: readonly Command[]): readonly string[] {
  return [...new Set(commands.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0] ?? ''] : [])))];
}

function firstWords(commands: readonly Command[]): readonly Candidates[] {
  const first = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  const second = (group: string): readonly string[] =>
    commands.flatMap(({ name }) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));
  return [
    { after: "''", words: [...first, '--help', '--version'] },
    ...groupsOf(commands).map((group) => ({ after: group, words: second(group) })),
  ];
}

function options(commands: readonly Command[]): readonly Candidates[] {
  return commands.map(({ name, options: valued, flags = {}, operands }) => ({
    after: `'${name}'`,
    words: [
      ...(operands.includes('SHELL') ? ['bash', 'zsh'] : []),
      ...[...Object.keys(valued), ...Object.keys(flags), 'help'].map((option) => `--${option}`),
    ],
  }));
}

function values(commands: readonly Command[]): readonly Candidates[] {
  return commands.flatMap(({ name, options: valued }) =>
    Object.entries(valued).map(([option, { values: words = [] }]) => ({ after: `'${name}|--${option}'`, words })),
  );
}
