import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from '../owner.ts';

/** A disk that the test can fill. */
interface SmallDisk {
  readonly directory: string;
  /** Leaves not a byte of room. */
  readonly fill: () => void;
  readonly makeRoom: () => void;
}

/** A file system of 16 MiB in memory; undefined where this user may not mount one. */
export function smallDisk(owner: Owner): SmallDisk | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=755', 'tmpfs', directory]).status === 0;
  owner.after(() => {
    // Lazily: the gateway on it may be stopped after this.
    if (mounted) spawnSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  if (!mounted) return undefined;
  const filler = join(directory, 'filler');
  return {
    directory,
    fill() {
      const block = Buffer.alloc(4096);
      try {
        for (;;) writeFileSync(filler, block, { flag: 'a' });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      }
    },
    makeRoom: () => rmSync(filler),
  };
}

/** False where the program that sets a limit on a running process is missing (util-linux; Linux alone). */
export const canLimitFiles = spawnSync('prlimit', ['--version']).status === 0;

/** From now on `pid` cannot let a file grow beyond these bytes; writing there fails with EFBIG. Undefined: as it likes. */
export function limitFileSize(pid: number, bytes: number | undefined): void {
  const limit = bytes === undefined ? 'unlimited' : String(bytes);
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${limit}:unlimited`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

/**
 * Makes a file refuse to be written, by whomever: for root, whom no mode stops, with the attribute `immutable`, with which it cannot
 * be removed either. Undefined where that cannot be done here.
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
