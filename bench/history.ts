/**
 * Makes calls over faulty connections; the full form of test/never-twice.test.ts.
 *
 *   node bench/history.ts [CALLS] [SEED] [FAR SIDES]        default 10000, a new seed, 3
 *
 * Exit code 1 where the replies to callers contradict the requests that the upstreams read.
 */
import { callHistory } from '../test/support/histories/call-history.ts';
import { contradictions } from '../test/support/histories/history-checker.ts';
import { newSeed } from '../test/support/seeded-random.ts';

const [callsGiven = '10000', seedGiven, upstreamsGiven = '3'] = process.argv.slice(2);
const calls = Number(callsGiven);
const upstreams = Number(upstreamsGiven);
const seed = seedGiven === undefined ? newSeed() : Number(seedGiven);

console.log(`${calls} calls; to plan them again: node bench/history.ts ${calls} ${seed} ${upstreams}`);
const started = performance.now();
const closers: (() => void | Promise<void>)[] = [];
try {
  const history = await callHistory(
    { after: (close) => void closers.push(close) },
    { calls, seed, upstreams, report: (line) => console.log(line) },
  );
  const found = contradictions(history);
  console.log('replies:', history.tally);
  console.log('connections:', history.met);
  console.log(`${history.applied.length} requests read, ${history.leftOpen} sockets left open`);
  for (const line of found.slice(0, 50)) console.log(line);
  console.log(`${found.length} contradictions, ${Math.round((performance.now() - started) / 1000)} s`);
  if (found.length > 0 || history.leftOpen > 0) process.exitCode = 1;
} finally {
  for (const close of closers.toReversed()) await close();
}
