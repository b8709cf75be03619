/**
 * The quick form of bench.ts for CI, under a minute: a query through the gateway beside the bare relay. Exit code 1 only beyond twice the
 * mark, for a shared machine is no place for a stricter judgement.
 *
 *   npm run bench:smoke
 */
import { startSurroundings } from './speed/far-side.ts';
import { owning } from './speed/owning.ts';
import { machine, smallTable } from './speed/report.ts';
import { startBareRelay, startThisGateway } from './speed/subjects.ts';
import { measureRows } from './speed/turns.ts';

const mark = 1.25;

const [query] = await owning(async (owner) => {
  const surroundings = await startSurroundings(owner);
  const floor = await startBareRelay(owner, surroundings);
  const subject = await startThisGateway(owner, surroundings);
  const rows = [{ name: 'gateway, restQuery', route: 'restQuery', subject, floor }] as const;
  return measureRows(rows, surroundings, { rounds: 5, milliseconds: 2000, callers: 32, warmUp: 5000 });
});
if (query === undefined) throw new Error('nothing was measured');
console.log(`${machine()}\n\n${smallTable([query])}\n`);
const fails = query.ratio > 2 * mark;
console.log(
  `restQuery takes ${query.ratio.toFixed(2)} times the processor time of the bare relay; mark ${mark}, fails beyond ${2 * mark}`,
);
process.exitCode = fails ? 1 : 0;
