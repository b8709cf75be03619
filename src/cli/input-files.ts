import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { visible } from '#base/text/visible.ts';
import { readRegularFile } from '#config/shapes/regular-file.ts';
import { locate } from '#yaml/located.ts';
import { excessOf, parseYaml } from '#yaml/yaml-text.ts';
import type { CommandContext } from './command.ts';
import { CommandFailed } from './gateway-session.ts';

/** Bytes of an input, as in the gateway. */
const inputLimit = 1024 ** 2;

/**
 * The object in a file of YAML or JSON (`-`: standard input) as JSON text; undefined for an empty name. Numbers keep their digits. Rejects
 * with a CommandFailed that names each fault with its line and column.
 */
export async function readRunInput(
  { stdin, cwd }: Pick<CommandContext, 'stdin' | 'cwd'>,
  file: string,
  what = 'input',
): Promise<string | undefined> {
  if (file === '') return undefined;
  const name = file === '-' ? '<stdin>' : visible(file);
  const read = file === '-' ? await readStream(stdin) : await readRegularFile(resolve(cwd, file), inputLimit);
  if ('fault' in read) throw new CommandFailed(`the ${what} ${visible(read.fault)}`);
  const excess = excessOf(read.text);
  if (excess !== undefined) throw new CommandFailed(`${name}: ${excess.message}`);
  const yaml = parseYaml(read.text);
  const { root, faults } = locate(yaml);
  const located = faults.map(({ pointer, offset, message }) => ({
    ...yaml.positionOf(offset),
    message: `${pointer} ${message}`.trim(),
  }));
  const wrong = (yaml.faults.length > 0 ? yaml.faults : located).map(
    ({ line, column, message }) => `${name}:${line}:${column}: ${visible(message)}`,
  );
  if (wrong.length > 0) throw new CommandFailed(`the ${what} cannot be used\n${wrong.slice(0, 20).join('\n')}`);
  if (root.kind !== 'object')
    throw new CommandFailed(`${name} has no object; the ${what} is an object, such as {"device": "ce0"}`);
  return root.json;
}

async function readStream(stream: Readable): Promise<{ readonly text: string } | { readonly fault: string }> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream) {
    const bytes = Buffer.from(part as Uint8Array | string);
    length += bytes.length;
    if (length > inputLimit) return { fault: `on standard input is larger than ${inputLimit} bytes` };
    parts.push(bytes);
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts)) };
  } catch {
    return { fault: 'on standard input is not UTF-8 text' };
  }
}

/** The text of a file that a person named. `limit`: bytes. Rejects with a CommandFailed. */
export async function readFile({ cwd }: Pick<CommandContext, 'cwd'>, file: string, limit: number): Promise<string> {
  const read = await readRegularFile(resolve(cwd, file), limit);
  if ('text' in read) return read.text;
  throw new CommandFailed(`${file}:1:1: the file ${read.fault}`);
}
