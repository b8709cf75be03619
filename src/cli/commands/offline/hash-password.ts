import type { Readable } from 'node:stream';
import { maxPasswordBytes } from '#access/passwords/password-hash.ts';
import { askPasswords } from '../../ask-passwords.ts';
import type { Command, CommandContext } from '../../command.ts';
import { print } from '../../output.ts';
import { program } from '../../texts/help.ts';

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
