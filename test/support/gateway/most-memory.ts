import { readFileSync } from 'node:fs';

/** MiB that a process has had resident at most (proc(5), VmHWM). Linux only. */
export function mostMemory(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
