import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { matchesPassword, type PasswordHash, passwordBytesAtMost } from './password-hash.ts';

/** Checks passwords a few at a time, so that a flood of logins neither fills the memory nor uses up the thread pool. */
export interface PasswordVerifier {
  /**
   * Takes a place; call it before any work for the attempt. Throws 400 for a password over 1,024 bytes, and 429
   * `too-many-requests` if no place is free.
   */
  enter(password: string): PasswordPlace;
}

/** A place for one attempt. Call `leave` in every case. */
interface PasswordPlace {
  /** Waits for a permit of the semaphore, then hashes. */
  verify(hash: PasswordHash): Promise<boolean>;
  leave(): void;
}

interface PasswordVerifierOptions {
  /**
   * Hashes that are computed at once. Each occupies a thread of libuv (16, see main.ts); DNS look-ups and file operations need
   * those threads too.
   */
  readonly concurrency: number;
  /** How many attempts may wait for a permit. */
  readonly queue: number;
  readonly matches?: typeof matchesPassword;
}

export function createPasswordVerifier({
  concurrency,
  queue,
  matches = matchesPassword,
}: PasswordVerifierOptions): PasswordVerifier {
  const permits = new Semaphore(concurrency);
  let present = 0;

  return {
    enter(password) {
      if (Buffer.byteLength(password, 'utf8') > passwordBytesAtMost) {
        throw new GatewayError('invalid-request', 'The password or secret is longer than 1,024 bytes: send the right one.');
      }
      if (present >= concurrency + queue) throw tooManyLogins();
      present += 1;
      return {
        verify: (hash) => permits.run(() => matches(password, hash)),
        leave() {
          present -= 1;
        },
      };
    },
  };
}

function tooManyLogins(): GatewayError {
  return new GatewayError('too-many-requests', 'The gateway is checking too many logins right now: try again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
