import { GatewayError } from '#base/gateway-error.ts';
import { matchesPassword, type PasswordHash } from './password-hash.ts';

/** Longest password or secret that is hashed, in UTF-8 bytes (hardening row 92). */
const passwordBytesAtMost = 1_024;

export interface PasswordVerifier {
  /** Throws 400 for a password over 1,024 bytes and 429 `too-many-requests` where the queue is full; costs nothing. */
  admit(password: string): void;
  /** Waits for its turn, then hashes. Rejects with 429 where the queue is full. */
  verify(password: string, hash: PasswordHash): Promise<boolean>;
}

interface PasswordVerifierOptions {
  /** Hashes under way at once. Each takes one of libuv's four threads, which look-ups of names and files need too. */
  readonly concurrency: number;
  /** How many may wait. */
  readonly queue: number;
  readonly matches?: typeof matchesPassword;
}

/** Passwords checked a few at a time, so that a flood of logins neither fills the memory nor starves the thread pool. */
export function createPasswordVerifier({
  concurrency,
  queue,
  matches = matchesPassword,
}: PasswordVerifierOptions): PasswordVerifier {
  const waiting: (() => void)[] = [];
  let running = 0;

  const turn = (): Promise<void> => {
    if (running < concurrency) {
      running += 1;
      return Promise.resolve();
    }
    if (waiting.length >= queue) return Promise.reject(tooManyLogins());
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    return promise;
  };

  const next = (): void => {
    const first = waiting.shift();
    if (first === undefined) running -= 1;
    else first();
  };

  return {
    admit(password) {
      if (Buffer.byteLength(password, 'utf8') > passwordBytesAtMost) {
        throw new GatewayError('invalid-request', 'The password or secret is over 1,024 bytes: send the one you were given.');
      }
      if (running >= concurrency && waiting.length >= queue) throw tooManyLogins();
    },
    async verify(password, hash) {
      await turn();
      try {
        return await matches(password, hash);
      } finally {
        next();
      }
    },
  };
}

function tooManyLogins(): GatewayError {
  return new GatewayError('too-many-requests', 'Too many logins are being checked right now: try again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
