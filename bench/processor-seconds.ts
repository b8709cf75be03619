import { readFileSync } from 'node:fs';

/** Ticks of a processor's time in /proc; Linux has had 100 a second on every platform of Node's for long. */
const ticksPerSecond = 100;

/** Seconds of user and system time that a process has used. Linux only. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /u, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
