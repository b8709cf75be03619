import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { catalogueLoad, proofCallers, proofUsers } from '../catalogue/catalogue-load.ts';
import { proveCatalogue } from '../catalogue/catalogue-proof.ts';
import { spawnCommand } from '../gateway/command.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway/start-gateway.ts';
import type { Owner } from '../owner.ts';
import { type SeededRandom, seededRandom } from '../seeded-random.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';

interface CrashRoundsOptions {
  readonly store: TestStore;
  readonly rounds: number;
  readonly seed: number;
  /** Gets a line after each round. */
  readonly report?: (line: string) => void;
}

interface CrashRoundsResult {
  readonly acknowledged: number;
  readonly unanswered: number;
}

const lanes = 4;

/**
 * Kills a gateway (SIGKILL) under a load of writes, starts it again, and compares the catalogue with the acknowledged writes,
 * `rounds` times. The same seed chooses the same writes and moments.
 */
export async function crashRounds(owner: Owner, { store, rounds, seed, report }: CrashRoundsOptions): Promise<CrashRoundsResult> {
  const random = seededRandom(seed);
  const options = await store.fresh(owner);
  const first = await startGatewayProcess(owner, { config: { store: { url: storeUrl(options) } }, users: proofUsers });
  const callers = await proofCallers(first);
  let gateway = first;
  const load = catalogueLoad({ seed, lanes, authorization: callers.admin });
  for (let round = 1; round <= rounds; round += 1) {
    const running = gateway;
    const blow = deadlyMoment(random, running);
    await load.run({ port: () => running.port, once: true, wrote: blow.wrote });
    await blow.killed;
    // In 15% of the rounds the next start is killed as well, perhaps during a recovery of the store.
    if (random.chance(0.15)) await killStart(running, random.whole(50, 900));
    gateway = await running.restart();
    await proveCatalogue(gateway, load.ledger, callers);
    report?.(`round ${round}: ${load.ledger.entries().length} automations, ${load.ledger.acknowledged} writes acknowledged`);
  }
  await gateway.stop();
  if (options.kind === 'sqlite') checkFile(options.file);
  return { acknowledged: load.ledger.acknowledged, unanswered: load.ledger.unanswered };
}

/** The moment of the kill: some time after the first acknowledged write, or after a certain number of them. */
function deadlyMoment(
  random: SeededRandom,
  gateway: GatewayProcess,
): { readonly wrote: () => void; readonly killed: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const kill = (): void => void gateway.stop('SIGKILL').then(resolve);
  const after = random.whole(1, 40);
  const delay = random.chance(0.5) ? random.whole(0, 150) : undefined;
  let count = 0;
  return {
    killed: promise,
    wrote: () => {
      count += 1;
      if (delay !== undefined && count === 1) setTimeout(kill, delay);
      if (delay === undefined && count === after) kill();
    },
  };
}

async function killStart({ configFile, directory }: GatewayProcess, delay: number): Promise<void> {
  const child = spawnCommand(['serve', '--config', configFile], { directory });
  child.stdout?.resume();
  child.stderr?.resume();
  const timer = setTimeout(() => child.kill('SIGKILL'), delay);
  await once(child, 'exit');
  clearTimeout(timer);
}

function checkFile(file: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const [result] = database.prepare('pragma integrity_check').all();
    if (result?.['integrity_check'] !== 'ok') throw new Error(`integrity_check: ${JSON.stringify(result)}`);
  } finally {
    database.close();
  }
}

/** The seed in CRASH_SEED, to repeat a run, or a new one. */
export function crashSeed(): number {
  const given = process.env['CRASH_SEED'];
  return given === undefined || given === '' ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}
