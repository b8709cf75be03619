import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import type { Figures } from './rounds.ts';

/** A table in Markdown; cells are written as they are. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The time, machine and load average of a measurement, without which its figures mean nothing. */
export function machine(): string {
  const [processor] = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  const load = loadavg().map((value) => value.toFixed(1));
  return (
    `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${cpus().length} × ${processor?.model.trim()}, ${memory} GiB. ` +
    `${systemName()}, Linux ${release()}, Node ${process.versions.node}. Load average ${load.join(', ')} (with the load of the measurement).`
  );
}

function systemName(): string {
  return /^PRETTY_NAME="(.*)"$/mu.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown system';
}

export function smallTable(figures: readonly Figures[]): string {
  const head = ['relay', 'processor time a call, µs', 'ratio to the floor', 'least, greatest', 'calls/s', 'p50 ms', 'p99 ms'];
  return table(
    head,
    figures.map(({ name, cost, ratio, ratios, callsASecond, p50, p99 }) => [
      name,
      cost.toFixed(0),
      ratio.toFixed(2),
      ratios.map((value) => value.toFixed(2)).join(', '),
      callsASecond.toFixed(0),
      p50.toFixed(2),
      p99.toFixed(2),
    ]),
  );
}
