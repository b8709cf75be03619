import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner } from '../../test/support/owner.ts';
import { mebibytes, processorSeconds } from '../process-tree.ts';
import { table } from '../speed/report.ts';
import { gatewaySide } from './gateway-side.ts';
import { timedUpstream } from './upstream.ts';

/** Turns of the loop at which memory is read. */
const places = [1_000, 2_500, 5_000, 7_500, 10_000] as const;
/** MiB that the gateway may grow between the first and the last place. */
const markOfLoop = 32;

/** One run with a `for` of so many queries, in a gateway of its own: its memory does not grow with the turns. */
export async function loopMemory(owner: Owner): Promise<string> {
  const far = await timedUpstream(owner);
  const side = await gatewaySide(owner, { server: undefined, far: [far.url] });
  const turns = places.at(-1) ?? 0;
  const query = { call: 'http', with: { method: 'get', endpoint: `${far.url}/status` } };
  const automation = await side.automation('loop', [
    { each: { for: { each: 'item', in: `\${ [range(${turns})] }` }, do: [{ ask: query }] } },
  ]);
  const used = processorSeconds(side.pid);
  const began = performance.now();
  await side.start(automation);
  const rows: string[][] = [];
  for (const place of places) {
    while (far.arrived < place) {
      await side.ended();
      if (performance.now() - began > 600_000) throw new Error(`the loop made ${far.arrived} of ${turns} calls in 600 s`);
      await sleep(10);
    }
    rows.push([String(place), mebibytes(side.pid, 'VmRSS').toFixed(0), mebibytes(side.pid, 'VmHWM').toFixed(0)]);
  }
  while ((await side.ended()) === 0) await sleep(20);
  const seconds = (performance.now() - began) / 1000;
  const cost = ((processorSeconds(side.pid) - used) / turns) * 1e6;
  const grown = Number(rows.at(-1)?.[1]) - Number(rows[0]?.[1]);
  return [
    table(['queries so far', 'memory, MiB', 'greatest memory, MiB'], rows),
    `${turns} queries in one run took ${seconds.toFixed(1)} s and ${cost.toFixed(0)} µs of processor time each. From ${places[0]} to ${turns} queries memory grew by ${grown} MiB; mark: ${markOfLoop} MiB. ${grown <= markOfLoop ? '**Reached.**' : '**Missed.**'}`,
  ].join('\n\n');
}
