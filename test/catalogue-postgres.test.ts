import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { catalogueLoad, proofCallers, proofUsers } from './support/catalogue/catalogue-load.ts';
import { proveCatalogue } from './support/catalogue/catalogue-proof.ts';
import { crashSeed } from './support/crashes/crash-rounds.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { noOwnPostgres, type OwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';

// A PostgreSQL that stops and starts again under load. The gateway answers 503 meanwhile and needs no restart.

test('a PostgreSQL that restarts under load gives 503, then works again, and nothing acknowledged is lost', {
  skip: noOwnPostgres,
}, async (t) => {
  const seed = crashSeed();
  t.diagnostic(`to play it again: CRASH_SEED=${seed}`);
  const postgres = await ownPostgres(t);
  const gateway = await startGateway(t, { config: { store: { url: postgres.url } }, users: proofUsers });
  const callers = await proofCallers(gateway);
  const load = catalogueLoad({ seed, lanes: 4, authorization: callers.admin, mayBeRefused: true });
  for (const mode of ['fast', 'immediate'] as const) {
    const seen = new Phases();
    const running = load.run({ port: () => (seen.hasEnded ? undefined : gateway.port), wrote: seen.wrote });
    const watched = restartUnderLoad({ postgres, mode, seen, gateway, authorization: callers.admin });
    await Promise.all([running, watched.finally(() => seen.finish())]);
    assert.ok(seen.refused > 0, `${mode}: nothing was refused`);
    await proveCatalogue(gateway, load.ledger, callers);
  }
  t.diagnostic(`${load.ledger.acknowledged} writes acknowledged, ${load.ledger.unanswered} refused or cut off`);
});

interface Restart {
  readonly postgres: OwnPostgres;
  readonly mode: 'fast' | 'immediate';
  readonly seen: Phases;
  readonly gateway: Gateway;
  readonly authorization: string;
}

async function restartUnderLoad({ postgres, mode, seen, gateway, authorization }: Restart): Promise<void> {
  await seen.next('written', 20);
  await postgres.stop(mode);
  await seen.next('refused', 8);
  assertProblem(await gateway.send({ target: '/readyz' }), 503, 'store-unavailable');
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  const target = '/automation_catalog/automations';
  const listing = await gateway.send({ target, headers: { Authorization: authorization } });
  assertProblem(listing, 503, 'store-unavailable');
  assert.match(listing.header('retry-after') ?? '', /^\d+$/);
  await postgres.start();
  await seen.next('written', 20);
  assert.equal((await gateway.send({ target: '/readyz' })).status, 200);
}

/** Counts the writes by outcome, and lets the test wait for a number of further ones. */
class Phases {
  written = 0;
  refused = 0;
  hasEnded = false;
  #waiting: (() => void)[] = [];

  readonly wrote = (reply: Reply): void => {
    if (reply.status === 503) {
      this.refused += 1;
      assertProblem(reply, 503, 'store-unavailable');
      assert.match(reply.header('retry-after') ?? '', /^\d+$/);
    } else this.written += 1;
    this.#wake();
  };

  async next(kind: 'written' | 'refused', count: number): Promise<void> {
    const goal = this[kind] + count;
    while (this[kind] < goal) {
      if (this.hasEnded) throw new Error(`the load ended before ${count} more were ${kind}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  finish(): void {
    this.hasEnded = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
