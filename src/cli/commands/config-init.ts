import { rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemCode } from '#base/system-code.ts';
import { configTemplate } from '#config/config-template.ts';
import type { Command } from '../command.ts';
import { configFileArgument, configFileOption } from '../config-file-option.ts';
import { generatedPassword } from '../generated-password.ts';
import { program } from '../help.ts';
import { shellWord } from '../invocation.ts';
import { tryPrint } from '../output.ts';

export const configInit: Command = {
  name: 'init',
  summary: 'write a commented configuration with a generated admin password',
  description: [
    'Write a configuration that explains every key, that only you can read, and that has one user,',
    'admin. The password is generated and shown once; the file contains its hash.',
    'A file that exists is never overwritten.',
  ],
  ...configFileArgument,
  options: { config: { ...configFileOption, meaning: 'the file to write' } },
  async run({ stdout, stderr, cwd, invocation, hashPassword }, { option }) {
    const file = option('config');
    const password = generatedPassword();
    const text = configTemplate({ adminPasswordHash: await hashPassword(password), program: invocation });
    try {
      await writeFile(resolve(cwd, file), text, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      stderr.write(`${program} init: ${whyNot(file, error)}\n`);
      return 1;
    }
    const outputError = await tryPrint(stdout, report({ file, password, invocation }));
    if (outputError === undefined) return 0;
    // The password is lost, and the file would prevent a second try.
    await rm(resolve(cwd, file));
    stderr.write(`${program} init: the password could not be shown, so ${file} was removed: ${outputError.message}\n`);
    return 1;
  },
};

function whyNot(file: string, error: unknown): string {
  const code = systemCode(error) ?? 'unknown error';
  if (code === 'EEXIST') return `${file} exists and was not changed; name another file with --config FILE`;
  if (code === 'ENOENT') return `the directory of ${file} does not exist; create it first`;
  return `${file} cannot be written (${code})`;
}

interface Report {
  readonly file: string;
  readonly password: string;
  readonly invocation: string;
}

function report({ file, password, invocation }: Report): string {
  const word = file === configFileOption.default ? '' : shellWord(file);
  return [
    `Wrote ${file}.`,
    '',
    '  user      admin',
    `  password  ${password}`,
    '',
    'The password is shown only this once: keep it.',
    `Next: name your orchestrators under "adapters" in ${file}, check the file, then start the gateway:`,
    '',
    `  ${invocation} check-config${word && ` ${word}`}`,
    `  ${invocation} serve${word && ` --config ${word}`}`,
    '',
  ].join('\n');
}
