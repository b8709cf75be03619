import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { matchesPassword, type PasswordHash, passwordBytesAtMost } from './password-hash.ts';

/** Passwords checked a few at a time, so that a flood of logins neither fills the memory nor starves the thread pool. */
export interface PasswordVerifier {
  /**
   * Takes a place, before anything is done for the attempt. Throws 400 for a password over 1,024 bytes and 429
   * `too-many-requests` where no place is free.
   */
  enter(password: string): PasswordPlace;
}

/** Room for one attempt, to be left whatever happens. */
interface PasswordPlace {
  /** Waits for its turn, then hashes. */
  verify(hash: PasswordHash): Promise<boolean>;
  leave(): void;
}

interface PasswordVerifierOptions {
  /** Hashes under way at once. Each takes one of libuv's threads (16, see main.ts), which look-ups of names and files need too. */
  readonly concurrency: number;
  /** How many attempts may be there beyond those that hash. */
  readonly queue: number;
  readonly matches?: typeof matchesPassword;
}

export function createPasswordVerifier({
  concurrency,
  queue,
  matches = matchesPassword,
}: PasswordVerifierOptions): PasswordVerifier {
  const turns = new Semaphore(concurrency);
  let present = 0;

  return {
    enter(password) {
      if (Buffer.byteLength(password, 'utf8') > passwordBytesAtMost) {
        throw new GatewayError('invalid-request', 'The password or secret is over 1,024 bytes: send the one you were given.');
      }
      if (present >= concurrency + queue) throw tooManyLogins();
      present += 1;
      return {
        verify: (hash) => turns.run(() => matches(password, hash)),
        leave() {
          present -= 1;
        },
      };
    },
  };
}

function tooManyLogins(): GatewayError {
  return new GatewayError('too-many-requests', 'Too many logins are being checked right now: try again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
