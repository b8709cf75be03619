import { GatewayError } from '#base/gateway-error.ts';

/** Most idle programs that are kept, and the largest size in bytes of one that is kept: WebAssembly memory only grows. */
const mostIdle = 8;
const usualSize = 4 * 1024 ** 2;

/** WebAssembly programs, each of which processes one reply at a time. */
export class ProgramPool<P extends { readonly size: number }> {
  readonly #create: () => P;
  readonly #idle: P[];

  /** Creates the first program, so that a gateway without memory for one does not start. */
  constructor(create: () => P) {
    this.#create = create;
    this.#idle = [create()];
  }

  /**
   * Throws 502 `response-too-large` where there is no memory for another program. It is no 503: the call was sent, and the caller must
   * not repeat it for this reason.
   */
  take(): P {
    return this.#idle.pop() ?? this.#created();
  }

  /** The reply has ended or the program has refused it. A program that is not released, since its reply was aborted, is garbage collected. */
  release(program: P): void {
    if (this.#idle.length < mostIdle && program.size <= usualSize) this.#idle.push(program);
  }

  #created(): P {
    try {
      return this.#create();
    } catch (cause) {
      // V8 reserves 8 GiB of address space for each, which `ulimit -v` may not allow.
      const detail =
        'The far side answered, but the gateway has no memory left to read its reply. A query can be repeated in a moment.';
      throw new GatewayError('response-too-large', detail, { cause });
    }
  }
}
