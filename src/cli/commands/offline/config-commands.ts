import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { maxPasswordBytes } from '#access/passwords/password-hash.ts';
import { systemCode } from '#base/system-code.ts';
import { configTemplate } from '#config/config-template.ts';
import { formatConfigProblem, loadConfig } from '#config/load-config.ts';
import type { Command, CommandContext } from '../../command.ts';
import { configFileArgument, configFileOption } from '../../config-file-option.ts';
import { shellWord } from '../../invocation.ts';
import { loadOrReport } from '../../load-or-report.ts';
import { print, tryPrint } from '../../output.ts';
import { askPasswords, generatedPassword } from '../../passwords.ts';
import { program } from '../../texts/help.ts';

export const configCheck: Command = {
  name: 'check-config',
  summary: 'check a configuration and print its problems',
  description: [
    'Read a configuration and everything that it names (files, environment variables), as serve',
    'does. Print "FILE: ok", or every problem with its line and column to standard error.',
  ],
  ...configFileArgument,
  async run(context, { option }) {
    const file = option('config');
    const loaded = await loadOrReport({ context, file, command: 'check-config', load: loadConfig });
    if (loaded === undefined) return 1;
    for (const warning of loaded.warnings) context.stderr.write(`${formatConfigProblem(warning)} (warning)\n`);
    await print(context.stdout, `${file}: ok\n`);
    return 0;
  },
};

/** A password, or the reason why there is none. */
type Password = { readonly password: string } | { readonly fault: string };

/** A login refuses longer passwords, so their hashes would be useless. */
const tooLong: Password = { fault: `the password is longer than ${maxPasswordBytes} bytes` };

export const passwordHash: Command = {
  name: 'hash-password',
  summary: 'print the argon2id hash of a password or client secret',
  description: [
    'Read a password from standard input to its end, and print its argon2id hash for',
    'passwordHash and secretHash in the configuration. One final newline is not part of',
    'the password. On a terminal the command asks for the password twice, without echo.',
  ],
  options: {},
  operands: [],
  async run(context) {
    const read = context.isTerminal ? await askTwice(context) : await readAll(context.stdin);
    const result = 'password' in read && read.password === '' ? { fault: 'the password is empty' } : read;
    if ('fault' in result) {
      context.stderr.write(`${program} hash-password: ${result.fault}\n`);
      return 1;
    }
    await print(context.stdout, `${await context.hashPassword(result.password)}\n`);
    return 0;
  },
};

async function askTwice({ stdin, stderr }: CommandContext): Promise<Password> {
  const [password, again] = await askPasswords({ stdin, stderr, prompts: ['Password: ', 'Again: '] });
  if (password === undefined || again === undefined) return { fault: 'no password was entered' };
  if (Buffer.byteLength(password) > maxPasswordBytes) return tooLong;
  return again === password ? { password } : { fault: 'the two passwords differ; nothing was printed' };
}

async function readAll(stdin: Readable): Promise<Password> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk as Uint8Array | string);
    chunks.push(bytes);
    length += bytes.length;
    // Up to two more bytes for a final newline.
    if (length > maxPasswordBytes + 2) return tooLong;
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
    const password = text.replace(/\r?\n$/u, '');
    return Buffer.byteLength(password) > maxPasswordBytes ? tooLong : { password };
  } catch {
    return { fault: 'the password is not UTF-8 text' };
  }
}

/** Where a package has the configuration of its service, and the store. */
const systemFile = '/etc/orchestration-gateway/gateway.yaml';
const systemStore = 'sqlite:/var/lib/orchestration-gateway/gateway.db';

export const configInit: Command = {
  name: 'init',
  summary: 'write a commented configuration with a generated admin password',
  description: [
    'Write a configuration that explains every key, that only you can read, and that has one user,',
    'admin. The password is generated and shown once; the file contains its hash.',
    'A file that exists is never overwritten.',
    'With --system it writes the configuration of the service that a package installed, with its store in',
    '/var/lib, in place of the comments that the package put there. Run it as root.',
  ],
  ...configFileArgument,
  options: { config: { ...configFileOption, meaning: 'the file to write' } },
  flags: { system: `write ${systemFile} for the service of a package` },
  async run({ stdout, stderr, cwd, invocation, hashPassword }, { option, flag }) {
    const file = flag('system') ? systemFile : option('config');
    const password = generatedPassword();
    const storeUrl = flag('system') ? systemStore : undefined;
    const text = configTemplate({ adminPasswordHash: await hashPassword(password), program: invocation, storeUrl });
    const stub = flag('system') ? await stubAt(file) : undefined;
    try {
      // The stub keeps its owner and its mode.
      if (stub !== undefined) await writeFile(file, text);
      else await writeFile(resolve(cwd, file), text, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      stderr.write(`${program} init: ${whyNot(file, error)}\n`);
      return 1;
    }
    const outputError = await tryPrint(stdout, report({ file, password, invocation, isService: flag('system') }));
    if (outputError === undefined) return 0;
    // The password is lost, and the file would prevent a second try.
    await (stub === undefined ? rm(resolve(cwd, file)) : writeFile(file, stub));
    const undone = stub === undefined ? 'was removed' : 'is as it was';
    stderr.write(`${program} init: the password could not be shown, so ${file} ${undone}: ${outputError.message}\n`);
    return 1;
  },
};

/** What the package installed at `file`, if it has only comments. */
async function stubAt(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text !== undefined && /^(?:\s*(?:#.*)?\n)*$/u.test(text) ? text : undefined;
}

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
  readonly isService: boolean;
}

function report({ file, password, invocation, isService }: Report): string {
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
    isService ? '  systemctl enable --now orchestration-gateway' : `  ${invocation} serve${word && ` --config ${word}`}`,
    '',
  ].join('\n');
}
