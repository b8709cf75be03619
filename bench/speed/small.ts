import type { Owner } from '../../test/support/owner.ts';
import { barChart } from './chart.ts';
import { expressGateway } from './express-gateway.ts';
import { type Surroundings, startSurroundings } from './far-side.ts';
import { nodeRed } from './node-red.ts';
import { caddy, nginx } from './proxies.ts';
import { smallTable } from './report.ts';
import type { Rival } from './rival.ts';
import { type Figures, mark, measureRows, type Row } from './rounds.ts';
import type { Section, SectionOptions } from './section.ts';
import { routes, type Subject, startBareRelay, startThisGateway } from './subjects.ts';

/** Of the floor: they differ by up to 45 % as long as they live, those of the gateway by 5. */
const floorProcesses = 3;

const rivals = [nginx, caddy, expressGateway, nodeRed];

/** What a small call costs, beside the floor and beside others. */
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
  const turns = { rounds, milliseconds: seconds * 1000, callers, warmUp: 10_000 };
  const figures = await measureRows(rows, surroundings, turns);
  return {
    title: 'A small call',
    text: [
      `${callers} callers, each on a connection of its own; turns of ${seconds} s, each beside one of the floor; medians of ${rounds} rounds; the floor is ${floorProcesses} processes, which take turns. Mark: ${mark} times the floor.`,
      smallTable(figures),
      notes.join('\n'),
    ].join('\n\n'),
    chart: chartOf(figures),
  };
}

/** Or why it is not measured. */
async function started(rival: Rival, owner: Owner, surroundings: Surroundings): Promise<Subject | string> {
  const missing = rival.missing();
  if (missing !== undefined) return missing;
  try {
    const subject = await rival.start(owner, surroundings);
    await surroundings.load({ port: subject.port, request: subject.request(rival.route), callers: 1, milliseconds: 100 });
    return subject;
  } catch (error) {
    return `does not run here: ${String(error)}`;
  }
}

function chartOf(figures: readonly Figures[]): string {
  const bars = figures.map(({ name, ratio }) => ({ name, value: ratio, own: name.startsWith('gateway') }));
  return barChart('Processor time a call, times that of the bare relay', bars, mark);
}
