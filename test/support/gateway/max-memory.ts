import { readFileSync } from 'node:fs';

/** The peak resident memory of a process in MiB (proc(5), VmHWM). Linux only. */
export function maxMemory(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
