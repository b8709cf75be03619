import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { matchesPassword, maxPasswordBytes, type PasswordHash } from './password-hash.ts';

export type PasswordVerifier = ReturnType<typeof createPasswordVerifier>;

/** A few at a time, so that a flood of logins neither fills the memory nor uses up the thread pool. */
export function createPasswordVerifier({
  concurrency,
  queue,
  matches = matchesPassword,
}: {
  /** Hashes at once. Each occupies a thread of libuv (16, see main.ts), which DNS and files need too. */
  readonly concurrency: number;
  /** Attempts that may wait. */
  readonly queue: number;
  readonly matches?: typeof matchesPassword | undefined;
}) {
  const permits = new Semaphore(concurrency);
  let present = 0;
  return {
    /**
     * Takes a place, before any work for the attempt. Throws 400 for over 1,024 bytes, and 429 `too-many-requests` if no place is free.
     * Call `leave` in every case.
     */
    enter(password: string) {
      if (Buffer.byteLength(password, 'utf8') > maxPasswordBytes)
        throw new GatewayError('invalid-request', 'The password or secret is longer than 1,024 bytes: send the right one.');
      if (present >= concurrency + queue)
        throw new GatewayError('too-many-requests', 'The gateway is checking too many logins right now: try again in a moment.', {
          headers: { 'Retry-After': '1' },
        });
      present += 1;
      return {
        verify: (hash: PasswordHash) => permits.run(() => matches(password, hash)),
        leave(): void {
          present -= 1;
        },
      };
    },
  };
}
