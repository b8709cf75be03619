import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from '../owner.ts';

/** A file system that a test can fill. */
interface SmallDisk {
  readonly directory: string;
  /** Fills the file system up to `left` bytes, by default to its last one. */
  readonly fill: (left?: number) => void;
  readonly makeRoom: () => void;
}

/** A file system of 16 MiB in memory; undefined where this user may not mount one. */
export function smallDisk(owner: Owner): SmallDisk | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=755', 'tmpfs', directory]).status === 0;
  owner.after(() => {
    // Lazily, since the gateway that uses it may end later.
    if (mounted) spawnSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  if (!mounted) return undefined;
  const filler = join(directory, 'filler');
  return {
    directory,
    fill(left = 0) {
      const block = Buffer.alloc(4096);
      const isFull = (): boolean => {
        const { bavail, bsize } = statfsSync(directory);
        return left > 0 && bavail * bsize <= left;
      };
      try {
        while (!isFull()) writeFileSync(filler, block, { flag: 'a' });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      }
    },
    makeRoom: () => rmSync(filler),
  };
}

/** False where prlimit is missing, which limits a running process (util-linux, Linux alone). */
export const canLimitFiles = spawnSync('prlimit', ['--version']).status === 0;

/** Limits the size of files that `pid` writes, in bytes; a longer write fails with EFBIG. Undefined removes the limit. */
export function limitFileSize(pid: number, bytes: number | undefined): void {
  const limit = bytes === undefined ? 'unlimited' : String(bytes);
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${limit}:unlimited`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

/**
 * Makes a file read-only for every user. Root ignores modes, so the file gets the attribute `immutable`, and cannot be removed
 * while it has the attribute. Undefined where this machine does not support that.
 */
export function makeReadOnly(file: string): { readonly makeWritable: () => void } | undefined {
  const root = process.getuid?.() === 0;
  const change = (writable: boolean): boolean => {
    const program = root ? 'chattr' : 'chmod';
    const mode = root ? (writable ? '-i' : '+i') : writable ? '0600' : '0400';
    return spawnSync(program, [mode, file]).status === 0;
  };
  return change(false) ? { makeWritable: () => void change(true) } : undefined;
}
