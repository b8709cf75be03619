import assert from 'node:assert/strict';
import type { Reply, Request } from '../callers/http-client.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { CatalogueLedger, Change, Entry } from './catalogue-ledger.ts';

/** The group whose members see the automations with a read list. */
export const readerGroup = 'crash-readers';

const route = '/automation_catalog/automations';

interface WriterOptions {
  /** The beginning of this writer's names. */
  readonly lane: string;
  readonly random: SeededRandom;
  readonly ledger: CatalogueLedger;
  /** Answers undefined, or an incomplete reply, where the connection ended before the reply. */
  readonly send: (request: Request) => Promise<Reply | undefined>;
  /** True where 503 is an expected answer; the write may then have happened or not. */
  readonly mayBeRefused: boolean;
}

interface Write {
  readonly request: Request;
  readonly change: Change;
  readonly status: number;
}

/** Writes to the catalogue, one write after the other, and records them in the ledger. */
export class CatalogueWriter {
  readonly #options: WriterOptions;
  #count = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** One write of a random kind; answers its reply, if there was one. */
  async write(): Promise<Reply | undefined> {
    const { ledger, send, mayBeRefused } = this.#options;
    const { request, change, status } = this.#next();
    const reply = await send(request);
    if (reply === undefined || !reply.complete || (mayBeRefused && reply.status === 503)) {
      ledger.leaveOpen(change);
      return reply;
    }
    assert.equal(reply.status, status, `${request.method} ${request.target}: ${reply.text.slice(0, 1000)}`);
    ledger.acknowledge(confirmed(change, reply));
    return reply;
  }

  #next(): Write {
    const { random, ledger, lane } = this.#options;
    const own = ledger.names(`${lane}-`);
    const dice = random.whole(0, 100);
    // A lane has few automations: the tests are about the moment of a kill, not about the size of a catalogue.
    if (own.length > 120 || (own.length > 0 && dice < 15)) return this.#remove(random.pick(own));
    if (own.length > 0 && dice < 35) return this.#replace(random.pick(own));
    if (own.length > 0 && dice < 60) return this.#patch(random.pick(own));
    return dice < 75 ? this.#import(own) : this.#create();
  }

  #create(): Write {
    const entry = this.#entry(this.#newName());
    return { request: json('POST', route, document(entry)), change: new Map([[entry.name, entry]]), status: 201 };
  }

  /** With another name in some cases: one write removes the old name and adds the new one. */
  #replace(name: string): Write {
    const { random } = this.#options;
    const entry = { ...this.#entry(random.chance(0.3) ? this.#newName() : name), id: this.#idOf(name) };
    const change = new Map<string, Entry | undefined>([
      [name, undefined],
      [entry.name, entry],
    ]);
    return { request: json('PUT', `${route}/${entry.id}`, document(entry)), change, status: 200 };
  }

  #patch(name: string): Write {
    const { id, description, read } = { ...this.#entry(name), id: this.#idOf(name) };
    const before = this.#options.ledger.entry(name);
    assert.ok(before !== undefined);
    return {
      request: json('PATCH', `${route}/${id}`, { data: { description, gbac: { read } } }, 'application/merge-patch+json'),
      change: new Map([[name, { ...before, description, read }]]),
      status: 200,
    };
  }

  #remove(name: string): Write {
    const request = { method: 'DELETE', target: `${route}/${this.#idOf(name)}` };
    return { request, change: new Map([[name, undefined]]), status: 204 };
  }

  /** New and replaced automations together; up to some hundred lines, so that a kill can happen during an import. */
  #import(own: readonly string[]): Write {
    const { random, lane } = this.#options;
    const change = new Map<string, Entry>();
    for (const name of own) {
      if (random.chance(0.2)) change.set(name, { ...this.#entry(name), id: this.#idOf(name) });
    }
    const added = random.chance(0.2) ? random.whole(40, 90) : random.whole(1, 20);
    for (let count = 0; count < added; count += 1) {
      const entry = this.#entry(this.#newName());
      change.set(entry.name, { ...entry, id: `${lane}-import-${this.#count}` });
    }
    const lines = [...change.values()].map((entry) => `${JSON.stringify({ _id: entry.id, ...document(entry) })}\n`);
    const request = {
      method: 'POST',
      target: '/automation_catalog/import',
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: lines.join(''),
    };
    return { request, change, status: 200 };
  }

  #newName(): string {
    this.#count += 1;
    return `${this.#options.lane}-${this.#count}`;
  }

  #entry(name: string): Entry {
    const { random } = this.#options;
    this.#count += 1;
    return {
      name,
      // Long at times, so that a document takes several pages of the store.
      description: `${name} as of ${this.#count} ${'é'.repeat(random.chance(0.1) ? random.whole(1000, 9000) : random.whole(0, 60))}`,
      read: random.pick([[], [], [readerGroup], ['others'], [readerGroup, 'others', `group of ${this.#options.lane}`]]),
      repeatInterval: `${random.whole(2, 60)} ${random.pick(['minutes', 'hours', 'days'])}`,
    };
  }

  #idOf(name: string): string {
    const id = this.#options.ledger.entry(name)?.id;
    assert.ok(id !== undefined, `${name} has no _id`);
    return id;
  }
}

function json(method: string, target: string, body: object, mediaType = 'application/json'): Request {
  return { method, target, headers: { 'Content-Type': mediaType }, body: JSON.stringify(body) };
}

function document({ name, description, read, repeatInterval }: Entry): object {
  return { name, data: { description, gbac: { write: [], read } }, repeatInterval };
}

/** An answered write of a single automation, with its `_id`, where it was created, and its ETag after the write. */
function confirmed(change: Change, reply: Reply): Change {
  const etag = reply.header('etag');
  const made = /\/automation_catalog\/automations\/([^/]+)$/.exec(reply.header('location') ?? '')?.[1];
  return new Map(
    [...change].map(([name, entry]) => {
      if (entry === undefined) return [name, undefined];
      const { etag: _before, ...rest } = entry;
      const id = made ?? entry.id;
      return [name, { ...rest, ...(id === undefined ? {} : { id }), ...(etag === undefined ? {} : { etag }) }];
    }),
  );
}
