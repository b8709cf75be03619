import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { GatewayError } from '#base/gateway-error.ts';
import { timedOut } from '../call/call-scope.ts';

/** At least one, in the order to try. Milliseconds. Rejects with `upstream-dns-failed`, or `upstream-timeout` (phase dns). */
export type Resolve = (host: string, options: { readonly timeout: number }) => Promise<readonly string[]>;

type Lookup = (host: string, done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void) => void;

interface ResolverOptions {
  /** Look-ups at once, for all callers. */
  readonly concurrency: number;
  readonly lookup?: Lookup;
}

/** The system's resolver (hosts file, search list, RFC 6724 order). Callers of one name share a look-up; a queued one ends with its last caller. */
export function createResolver({ concurrency, lookup = lookupBySystem }: ResolverOptions): Resolve {
  const queue = new LookupQueue(concurrency, lookup);
  return async (host, { timeout }) => {
    const addresses = await queue.ask(host, timeout);
    if (addresses.length === 0) throw new GatewayError('upstream-dns-failed', `The host name ${host} resolves to no address.`);
    return addresses;
  };
}

interface PendingLookup {
  readonly host: string;
  readonly waiting: Set<Waiter>;
}

interface Waiter {
  readonly resolve: (addresses: readonly string[]) => void;
  readonly reject: (reason: Error) => void;
}

class LookupQueue {
  readonly #concurrency: number;
  readonly #lookup: Lookup;
  readonly #pending = new Map<string, PendingLookup>();
  readonly #queued = new Set<PendingLookup>();
  #running = 0;

  constructor(concurrency: number, lookup: Lookup) {
    this.#concurrency = concurrency;
    this.#lookup = lookup;
  }

  ask(host: string, timeout: number): Promise<readonly string[]> {
    const pending = this.#pending.get(host) ?? this.#enqueue(host);
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    const waiter: Waiter = { resolve, reject };
    pending.waiting.add(waiter);
    const timer = setTimeout(() => {
      this.#giveUp(pending, waiter);
      reject(timedOut('dns', timeout));
    }, timeout);
    this.#startNext();
    return promise.finally(() => clearTimeout(timer));
  }

  #enqueue(host: string): PendingLookup {
    const pending: PendingLookup = { host, waiting: new Set() };
    this.#pending.set(host, pending);
    this.#queued.add(pending);
    return pending;
  }

  /** A running look-up cannot be stopped, and counts until the system answers. */
  #giveUp(pending: PendingLookup, waiter: Waiter): void {
    pending.waiting.delete(waiter);
    if (pending.waiting.size === 0 && this.#queued.delete(pending)) this.#pending.delete(pending.host);
  }

  #startNext(): void {
    for (const pending of this.#queued) {
      if (this.#running >= this.#concurrency) return;
      this.#queued.delete(pending);
      this.#running += 1;
      this.#lookup(pending.host, (error, addresses) => this.#settle(pending, error, addresses));
    }
  }

  #settle(pending: PendingLookup, error: NodeJS.ErrnoException | null, answers: readonly LookupAddress[]): void {
    this.#running -= 1;
    this.#pending.delete(pending.host);
    const addresses = error === null ? [...new Set(answers.map(({ address }) => address))] : [];
    for (const { resolve, reject } of pending.waiting) {
      if (error === null) resolve(addresses);
      else reject(lookupFailed(pending.host, error));
    }
    this.#startNext();
  }
}

function lookupBySystem(...[host, done]: Parameters<Lookup>): void {
  systemLookup(host, { all: true, order: 'verbatim' }, done);
}

const causes: ReadonlyMap<string, string> = new Map([
  ['ENOTFOUND', 'there is no such name, or it has no address'],
  ['ENODATA', 'the name has no address'],
  ['EAI_AGAIN', 'the name server does not answer'],
]);

function lookupFailed(host: string, error: NodeJS.ErrnoException): GatewayError {
  const code = error.code ?? 'unknown';
  const cause = causes.get(code) ?? 'the look-up failed';
  return new GatewayError('upstream-dns-failed', `The host name ${host} could not be resolved: ${cause} (${code}).`, {
    cause: error,
  });
}
