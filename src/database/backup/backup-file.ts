import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';

/** A backup is a SQLite file with two tables: the parts, and their bytes in compressed blocks. This number in its header names it. */
const applicationId = 0x4f_47_77_31;
/** Bytes of a block before compression. */
const blockSize = 1_048_576;

interface Part {
  readonly name: string;
  readonly file: string;
  /** Left out where the file is missing. */
  readonly isOptional?: boolean;
}

/** Makes `backupFile` with mode 0600. Rejects with the error of the system. */
export async function packParts(
  backupFile: string,
  { version, parts }: { readonly version: string; readonly parts: readonly Part[] },
): Promise<void> {
  await (await open(backupFile, 'wx', 0o600)).close();
  using opened = new DisposableStack();
  const packed = opened.adopt(new DatabaseSync(backupFile), (database) => database.close());
  packed.exec(`pragma journal_mode = off; pragma application_id = ${applicationId};
    begin;
    create table about (version text not null, made_at integer not null) strict;
    create table part (name text primary key, size integer not null, sha256 text not null) strict;
    create table block (part text not null, number integer not null, bytes blob not null, primary key (part, number)) strict`);
  packed.prepare('insert into about values (?, ?)').run(version, Date.now());
  for (const part of parts) await packPart(packed, part);
  packed.exec('commit');
}

async function packPart(packed: DatabaseSync, { name, file, isOptional = false }: Part): Promise<void> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (isOptional && systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return;
  const insert = packed.prepare('insert into block values (?, ?, ?)');
  const hash = createHash('sha256');
  let size = 0;
  try {
    for (let number = 0; ; number += 1) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(blockSize), 0, blockSize, null);
      if (bytesRead === 0) break;
      const bytes = buffer.subarray(0, bytesRead);
      hash.update(bytes);
      size += bytesRead;
      insert.run(name, number, zstdCompressSync(bytes));
    }
  } finally {
    await handle.close();
  }
  packed.prepare('insert into part values (?, ?, ?)').run(name, size, hash.digest('hex'));
}

/** A backup that is open for reading. */
export interface BackupFile extends Disposable {
  /** The version of the gateway that wrote it. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly madeAt: number;
  readonly parts: ReadonlySet<string>;
  /** Writes a part to a new file with mode 0600, on the disk when it resolves. Rejects where the part is damaged, and leaves no file. */
  unpack(name: string, file: string): Promise<void>;
}

/** Throws where the file is missing or no backup. */
export function openBackup(file: string): BackupFile {
  let packed: DatabaseSync | undefined;
  try {
    packed = new DatabaseSync(file, { readOnly: true });
    if (packed.prepare('pragma application_id').get()?.['application_id'] !== applicationId) throw new Error('another file');
    const { version, made_at: madeAt } = packed.prepare('select version, made_at from about').get() ?? {};
    const parts = packed.prepare('select name from part').all();
    const read = packed;
    return {
      version: String(version),
      madeAt: Number(madeAt),
      parts: new Set(parts.map(({ name }) => String(name))),
      unpack: (name, target) => unpack(read, name, target),
      [Symbol.dispose]: () => read.close(),
    };
  } catch (error) {
    packed?.close();
    throw new GatewayError('store-unavailable', `${file} is no backup of a gateway, or a damaged one.`, { cause: error });
  }
}

async function unpack(packed: DatabaseSync, name: string, file: string): Promise<void> {
  const { sha256 } = packed.prepare('select sha256 from part where name = ?').get(name) ?? {};
  const handle = await open(file, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    for (const { bytes } of packed.prepare('select bytes from block where part = ? order by number').iterate(name)) {
      const block = zstdDecompressSync(bytes as Uint8Array);
      hash.update(block);
      await handle.write(block);
    }
    if (hash.digest('hex') !== sha256) throw new Error(`the part ${name} has another digest`);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw new GatewayError('store-unavailable', `The backup is damaged: ${(error as Error).message}. Nothing was restored.`, {
      cause: error,
    });
  } finally {
    await handle.close();
  }
}
