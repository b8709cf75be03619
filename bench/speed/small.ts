import type { Owner } from '../../test/support/owner.ts';
import { type Surroundings, startSurroundings } from './answering-upstream.ts';
import { barChart } from './chart.ts';
import { expressGateway } from './express-gateway.ts';
import { nodeRed } from './node-red.ts';
import { caddy, nginx } from './proxies.ts';
import { smallTable } from './report.ts';
import type { Rival } from './rival.ts';
import { type Figures, mark, measureRows, type Row } from './rounds.ts';
import type { Section, SectionOptions } from './section.ts';
import { routes, type Subject, startBareRelay, startThisGateway } from './subjects.ts';

/** Processes of the floor differ by up to 45 % for their whole life, those of the gateway by 5 %. */
const floorProcesses = 3;

const rivals = [nginx, caddy, expressGateway, nodeRed];

/** Measures a small call through the gateway, the floor and other relays. */
export async function small(owner: Owner, { rounds, seconds, callers, rows: wanted }: SectionOptions): Promise<Section> {
  const surroundings = await startSurroundings(owner);
  const floors: Subject[] = [];
  while (floors.length < floorProcesses) floors.push(await startBareRelay(owner, surroundings));
  const gateway = await startThisGateway(owner, surroundings);
  const rows: Row[] = [
    { name: 'bare relay', route: 'restQuery', subjects: floors, floors },
    ...routes.map((route) => ({ name: `gateway, ${route}`, route, subjects: [gateway], floors })),
  ];
  const others = rivals.filter(({ name }) => wanted?.includes(name.toLowerCase()) ?? true);
  const notes: string[] = [];
  for (const rival of others) {
    const subject = await started(rival, owner, surroundings);
    if (typeof subject === 'string') notes.push(`- ${rival.name}: ${subject}`);
    else {
      notes.push(`- ${rival.name} ${rival.version()}: ${rival.about}`);
      rows.push({ name: `${rival.name}, ${rival.route}`, route: rival.route, subjects: [subject], floors });
    }
  }
  const options = { rounds, milliseconds: seconds * 1000, callers, warmUp: 10_000 };
  const figures = await measureRows(rows, surroundings, options);
  return {
    title: 'A small call',
    text: [
      `${callers} callers, each on a connection of its own. Measurements take ${seconds} s, each directly before or after one of the floor. Figures are medians of ${rounds} rounds. The floor is ${floorProcesses} processes. Mark: ${mark} times the floor.`,
      smallTable(figures),
      notes.join('\n'),
    ].join('\n\n'),
    chart: chartOf(figures),
  };
}

/** Starts it and makes one call, or returns why it is not measured. */
async function started(rival: Rival, owner: Owner, surroundings: Surroundings): Promise<Subject | string> {
  const missing = rival.missing();
  if (missing !== undefined) return missing;
  try {
    const subject = await rival.start(owner, surroundings);
    await surroundings.load({ port: subject.port, request: subject.request(rival.route), callers: 1, milliseconds: 100 });
    return subject;
  } catch (error) {
    return `does not start: ${String(error)}`;
  }
}

function chartOf(figures: readonly Figures[]): string {
  const bars = figures.map(({ name, ratio }) => ({ name, value: ratio, own: name.startsWith('gateway') }));
  return barChart('Processor time a call, times that of the bare relay', bars, mark);
}
