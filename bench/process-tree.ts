import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Clock ticks in /proc: Linux has 100 a second on every platform that Node supports. */
const ticksPerSecond = 100;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/**
 * Seconds of user and system time of a process and its descendants, including ended children that were waited for (proc(5), stat: utime,
 * stime, cutime, cstime). Linux only.
 */
export function processorSeconds(pid: number): number {
  return treeOf(pid).reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond;
}

/** MiB of a process and its live descendants; shared pages count for each process. `VmHWM` is the high-water mark. Linux only. */
export function mebibytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  return treeOf(pid).reduce((sum, { pid }) => sum + kibibytesOf(pid, field), 0) / 1024;
}

/** Resets the high-water marks to the resident memory of now (proc(5), clear_refs). */
export function resetHighWaterMark(pid: number): void {
  for (const one of treeOf(pid)) writeFileSync(`/proc/${one.pid}/clear_refs`, '5');
}

function kibibytesOf(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`, 'u').exec(status)?.[1] ?? 0);
}

function treeOf(root: number): readonly Stat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat !== undefined);
  const tree = all.filter(({ pid }) => pid === root);
  if (tree.length === 0) throw new Error(`process ${root} has ended`);
  // The loop also reaches the elements that it adds, so children of children follow.
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  return tree;
}

/** Undefined for a process that has ended. */
function statOf(pid: number): Stat | undefined {
  try {
    // The command is in parentheses and may contain any character, spaces and parentheses too.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /su, '')
      .split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { pid, parent: Number(fields[1]), ticks };
  } catch {
    return undefined;
  }
}
