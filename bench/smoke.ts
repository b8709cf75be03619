/**
 * The quick form of bench.ts for CI, under a minute: a query through the gateway and through the bare relay. Exit code 1 where two
 * measurements in a row are over 4 times the bare relay. The mark is 2; history.md has what states gave.
 *
 *   npm run bench:smoke
 */
import { startSurroundings } from './speed/answering-upstream.ts';
import { owning } from './speed/owning.ts';
import { machine, smallTable } from './speed/report.ts';
import { mark, measureRows } from './speed/rounds.ts';
import { startBareRelay, startThisGateway } from './speed/subjects.ts';

/** Times the processor time of the bare relay. */
const limit = 4;

const options = { rounds: 5, milliseconds: 1500, callers: 32 };

const ratio = await owning(async (owner) => {
  const surroundings = await startSurroundings(owner);
  const floors = [await startBareRelay(owner, surroundings)];
  const subjects = [await startThisGateway(owner, surroundings)];
  const rows = [{ name: 'gateway, restQuery', route: 'restQuery', subjects, floors }] as const;
  const measure = async (warmUp: number): Promise<number> => {
    const [query] = await measureRows(rows, surroundings, { ...options, warmUp });
    if (query === undefined) throw new Error('nothing was measured');
    console.log(`${smallTable([query])}\n`);
    return query.ratio;
  };
  console.log(`${machine()}\n`);
  const first = await measure(8000);
  return first > limit ? Math.min(first, await measure(500)) : first;
});
console.log(`restQuery takes ${ratio.toFixed(2)} times the processor time of the bare relay; mark ${mark}, fails over ${limit}`);
process.exitCode = ratio > limit ? 1 : 0;
