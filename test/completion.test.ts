import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { commands } from '../src/cli/cli.ts';
import { completionScript } from '../src/cli/commands/offline/shell-completion.ts';
import { shell } from './support/gateway/command.ts';
import { executable } from './support/gateway/gateway-process.ts';
import { runCommandLine } from './support/gateway/run-command-line.ts';
import { missing } from './support/installed.ts';

// `completion bash|zsh`: the shells load the script and complete with it.

const directory = mkdtempSync(join(tmpdir(), 'completion-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const noBash = missing('bash', '--version', 'bash');
const noZsh = missing('zsh', '--version', 'zsh');

const program = `'${process.execPath}' '${executable}'`;
const loaded = join(directory, 'completion.bash');
writeFileSync(loaded, completionScript(commands, false));

/** What bash offers after the words of a line, of which the last one is not complete. */
async function offered(line: string): Promise<readonly string[]> {
  const words = line.split(' ');
  const file = join(directory, 'complete.bash');
  const typed = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; COMPREPLY=()`;
  writeFileSync(file, `source '${loaded}'\n${typed}\n_orchestration_gateway\nprintf '%s\\n' "\${COMPREPLY[@]}"\n`);
  const { code, stdout, stderr } = await shell(`bash '${file}'`);
  assert.deepEqual([code, stderr], [0, '']);
  return stdout.split('\n').filter((word) => word !== '');
}

test('bash loads the script, and completes commands, options and their values', { skip: noBash }, async () => {
  const registered = await shell(`bash -c "source <(${program} completion bash) && complete -p orchestration-gateway"`);
  assert.equal(registered.stdout, 'complete -o default -F _orchestration_gateway orchestration-gateway\n', registered.stderr);
  const first = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  assert.deepEqual(await offered('orchestration-gateway '), [...first, '--help', '--version']);
  assert.deepEqual(await offered('orchestration-gateway wor'), ['workflows']);
  assert.deepEqual(await offered('orchestration-gateway workflows t'), ['try', 'take']);
  assert.deepEqual(await offered('orchestration-gateway runs decide RUN --as '), ['done', 'failed', 'again']);
  assert.deepEqual(await offered('orchestration-gateway runs decide RUN --t'), ['--task']);
  assert.deepEqual(await offered('orchestration-gateway completion z'), ['zsh']);
  assert.deepEqual(await offered('orchestration-gateway export --kind w'), ['workflow']);
  // The name of a file is left to the shell.
  assert.deepEqual(await offered('orchestration-gateway workflows store x'), []);
});

test('each command and each of its options is in the script', async () => {
  const { code, out } = await runCommandLine({ after }, ['completion', 'bash']);
  assert.equal(code, 0);
  for (const { name, options, flags = {} } of commands)
    for (const option of [...Object.keys(options), ...Object.keys(flags)])
      assert.match(out, new RegExp(`^ *'${name}'\\) words=".*--${option}\\b`, 'mu'), `${name} --${option}`);
  assert.equal((await runCommandLine({ after }, ['completion', 'fish'])).code, 2);
});

test('zsh loads the script', { skip: noZsh }, async () => {
  const file = join(directory, 'complete.zsh');
  writeFileSync(file, `source <(${program} completion zsh)\nprint $_comps[orchestration-gateway]\n`);
  const { code, stdout, stderr } = await shell(`zsh -f '${file}'`, { ZDOTDIR: directory });
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /_orchestration_gateway$/mu);
});
