import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { systemCode } from '#base/system-code.ts';
import { GatheredBytes } from '#base/text/gathered-bytes.ts';
import type { CommandContext } from '../../command.ts';
import { CommandFailed } from '../../gateway-session.ts';

/** Where a line is, which has a document. */
export interface ImportLine {
  /** In the file, from 1. */
  readonly number: number;
  readonly start: number;
  /** Bytes, without its newline. */
  readonly length: number;
}

/** A file that is imported. It stays on the disk. */
interface ImportFile extends AsyncDisposable {
  /** The forms, then the workflows, then the automations: they name each other in that order. */
  readonly lines: readonly ImportLine[];
  /** The bytes of these lines, each with a newline. Rejects with a CommandFailed. */
  bytesOf(lines: readonly ImportLine[]): AsyncIterable<Buffer>;
}

/** Longer lines are refused by the gateway. */
const lineLimit = 2 * 1024 ** 2;
/** Bytes that are read at once. */
const chunk = 262_144;
const newline = 0x0a;

/** `file`: as a person named it; `-` is standard input. Rejects with a CommandFailed, or with the reason of the interruption. */
export async function openImportFile(
  context: Pick<CommandContext, 'cwd' | 'stdin'>,
  file: string,
  interruption: AbortSignal,
): Promise<ImportFile> {
  const name = nameOf(file);
  const readable = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (interruption.aborted || error instanceof CommandFailed) throw error;
      throw new CommandFailed(`${name} cannot be read (${systemCode(error) ?? 'unknown error'})`);
    }
  };
  const { handle, dispose } = await readable(seekable(context, file, interruption));
  const bytesOf = async function* (lines: readonly ImportLine[]): AsyncGenerator<Buffer, void, undefined> {
    for (const { start, end } of rangesOf(lines)) {
      for (let at = start; at < end; ) {
        const { buffer, bytesRead } = await readable(
          handle.read(Buffer.allocUnsafe(Math.min(chunk, end - at)), { position: at }),
        );
        if (bytesRead === 0) throw new CommandFailed(`${name} became shorter while it was imported`);
        yield buffer.subarray(0, bytesRead);
        at += bytesRead;
      }
      yield Buffer.of(newline);
    }
  };
  try {
    const ranked = await readable(linesOf(handle, interruption));
    const lines = ranked.toSorted((one, other) => one.rank - other.rank);
    return { lines, bytesOf, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

export function nameOf(file: string): string {
  return file === '-' ? '<stdin>' : file;
}

interface Seekable {
  readonly handle: FileHandle;
  readonly dispose: () => Promise<void>;
}

/** A pipe is copied into a file of this command, since lines are read in another order than they come. */
async function seekable(
  { cwd, stdin }: Pick<CommandContext, 'cwd' | 'stdin'>,
  file: string,
  interruption: AbortSignal,
): Promise<Seekable> {
  if (file === '-') return await copyOf(stdin, interruption);
  const handle = await open(resolve(cwd, file));
  if ((await handle.stat()).isFile()) return { handle, dispose: () => handle.close() };
  return await copyOf(handle.createReadStream(), interruption);
}

async function copyOf(source: Readable, interruption: AbortSignal): Promise<Seekable> {
  const directory = await mkdtemp(join(tmpdir(), 'orchestration-gateway-import-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    const handle = await open(join(directory, 'lines.ndjson'), 'wx+', 0o600);
    for await (const piece of addAbortSignal(interruption, source)) await handle.appendFile(piece as Uint8Array | string);
    return {
      handle,
      async dispose() {
        await handle.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

interface RankedLine extends ImportLine {
  readonly rank: number;
}

/** Without blank lines. */
async function linesOf(handle: FileHandle, interruption: AbortSignal): Promise<readonly RankedLine[]> {
  const lines: RankedLine[] = [];
  const held = new GatheredBytes();
  let [start, length, number, isBlank] = [0, 0, 1, true];
  const take = (piece: Buffer): void => {
    length += piece.length;
    isBlank &&= piece.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
    if (length <= lineLimit) held.add(piece);
  };
  const endLine = (): void => {
    const text = held.take();
    if (!isBlank) lines.push({ number, start, length, rank: length <= lineLimit ? rankOf(text) : automationRank });
    [start, length, number, isBlank] = [start + length + 1, 0, number + 1, true];
  };
  const stream = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: chunk });
  for await (const bytes of addAbortSignal(interruption, stream)) {
    const piece = bytes as Buffer;
    let from = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      take(piece.subarray(from, end));
      endLine();
      from = end + 1;
    }
    take(piece.subarray(from));
  }
  endLine();
  return lines;
}

const automationRank = 2;

function rankOf(line: Buffer): number {
  try {
    const { kind } = JSON.parse(line.toString('utf8')) as { readonly kind?: unknown };
    return kind === 'form' ? 0 : kind === 'workflow' ? 1 : automationRank;
  } catch {
    // The gateway says what is wrong with the line.
    return automationRank;
  }
}

/** From the first byte of a line to the end of one: lines that follow each other are one range. */
function rangesOf(lines: readonly ImportLine[]): readonly { readonly start: number; readonly end: number }[] {
  const ranges: { start: number; end: number }[] = [];
  for (const { start, length } of lines) {
    const last = ranges.at(-1);
    if (last !== undefined && last.end + 1 === start) last.end = start + length;
    else ranges.push({ start, end: start + length });
  }
  return ranges;
}
