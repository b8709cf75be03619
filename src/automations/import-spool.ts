import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import type { Automation } from './automation.ts';
import { automationOf, documentText } from './automation-row.ts';
import { documentLimits } from './automation-schema.ts';
import { ndjsonLines } from './ndjson-lines.ts';

/** An automation and its line number in the import. */
export interface SpooledAutomation {
  readonly line: number;
  readonly automation: Automation;
}

/**
 * What an import has read so far, in a temporary file without a name, which only this process can open. A caller that sends slowly occupies
 * disk space, but no memory and no lock.
 */
export interface ImportSpool {
  add(spooled: SpooledAutomation): Promise<void>;
  /** In the order of the lines, at most 50 at a time. */
  batches(): AsyncGenerator<readonly SpooledAutomation[], void, undefined>;
  close(): Promise<void>;
}

const writtenAtOnce = 65_536;
/** Small enough that reading a batch and making rows of it blocks the event loop only shortly. */
const batchSize = 50;
/** The line number and a colon precede the document. */
const longest = documentLimits.document + 32;

/** Rejects with `store-unavailable` where the temporary file cannot be opened; writing does so where the disk is full. */
export async function openSpool(): Promise<ImportSpool> {
  const file = await orUnavailable(openNameless());
  let waiting: string[] = [];
  let length = 0;
  let size = 0;
  const flush = async (): Promise<void> => {
    const text = waiting.join('');
    waiting = [];
    length = 0;
    const { bytesWritten } = await orUnavailable(file.write(text, size));
    size += bytesWritten;
    if (bytesWritten !== Buffer.byteLength(text)) throw unavailable('ENOSPC');
  };
  return {
    async add({ line, automation }) {
      const text = `${line}:${documentText(automation)}\n`;
      waiting.push(text);
      length += text.length;
      if (length >= writtenAtOnce) await flush();
    },
    async *batches() {
      await flush();
      let batch: SpooledAutomation[] = [];
      if (size === 0) return;
      for await (const { bytes } of ndjsonLines(file.createReadStream({ start: 0, end: size - 1, autoClose: false }), longest)) {
        batch.push(spooledIn(bytes ?? Buffer.alloc(0)));
        if (batch.length < batchSize) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    },
    close: () => file.close(),
  };
}

function spooledIn(bytes: Buffer): SpooledAutomation {
  const colon = bytes.indexOf(':');
  return {
    line: Number(bytes.toString('latin1', 0, colon)),
    automation: automationOf(bytes.toString('utf8', colon + 1)),
  };
}

async function openNameless(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-import-'));
  try {
    return await open(join(directory, 'spool'), 'wx+', 0o600);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw unavailable(systemCode(error) ?? 'unknown');
  }
}

function unavailable(code: string): GatewayError {
  return new GatewayError(
    'store-unavailable',
    `The temporary file of the import cannot be written (${code}): see that ${tmpdir()} (TMPDIR) has room. Nothing was changed.`,
    { headers: { 'Retry-After': '10' } },
  );
}
