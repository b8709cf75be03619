/**
 * What the gateway costs, with the marks and results of docs/performance.md.
 *
 *   npm run bench -- [small] [large] [many] [soak] [two] [runs] [audit-search] [--rounds 15] [--seconds 2] [--callers 32] [--mebibytes 1024] [--minutes 10]
 *                    [--runs 2000] [--rows nginx,caddy,express-gateway,node-red] [--write DIRECTORY]
 *   npm run bench -- --cpu-prof DIRECTORY [--route restQuery] [--seconds 10]
 *
 * Without a section all of them run, for an hour and a half. Linux only: processor time and memory are read from /proc.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { auditSearch } from './audit-search.ts';
import { runs } from './runs.ts';
import { large } from './speed/large.ts';
import { many } from './speed/many.ts';
import { owning } from './speed/owning.ts';
import { profile } from './speed/profile.ts';
import { machine } from './speed/report.ts';
import type { Measure, Section } from './speed/section.ts';
import { small } from './speed/small.ts';
import { soak } from './speed/soak.ts';
import { two } from './speed/two.ts';

const sections: Readonly<Record<string, Measure>> = { small, large, many, soak, two, runs, 'audit-search': auditSearch };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string' },
    callers: { type: 'string', default: '32' },
    mebibytes: { type: 'string', default: '1024' },
    minutes: { type: 'string', default: '10' },
    runs: { type: 'string', default: '2000' },
    rows: { type: 'string' },
    route: { type: 'string', default: 'restQuery' },
    write: { type: 'string' },
    'cpu-prof': { type: 'string' },
  },
});
const options = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds ?? 2),
  callers: Number(values.callers),
  mebibytes: Number(values.mebibytes),
  minutes: Number(values.minutes),
  runs: Number(values.runs),
  rows: values.rows?.split(','),
};

async function measureAll(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const measure = sections[name];
    if (measure === undefined) throw new Error(`no section ${name}: take ${Object.keys(sections).join(', ')}`);
    const section = await owning((owner) => measure(owner, options));
    console.log(`${markdownOf(section)}\n`);
    if (values.write !== undefined) keep(values.write, name, section);
  }
}

function markdownOf({ title, text }: Section): string {
  return `## ${title}\n\n${machine()}\n\n${text}`;
}

/** One file a section, so that each can be measured again alone. */
function keep(directory: string, name: string, section: Section): void {
  mkdirSync(directory, { recursive: true });
  const chart = section.chart === undefined ? '' : `\n\n![${section.title}](${name}.svg)`;
  writeFileSync(join(directory, `${name}.md`), `${markdownOf(section).replace('## ', '# ')}${chart}\n`);
  if (section.chart !== undefined) writeFileSync(join(directory, `${name}.svg`), section.chart);
}

const directory = values['cpu-prof'];
if (directory === undefined) await measureAll(positionals.length > 0 ? positionals : Object.keys(sections));
else
  await owning((owner) => profile(owner, { ...options, directory, route: values.route, seconds: Number(values.seconds ?? 10) }));
