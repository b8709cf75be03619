import { GatewayError } from '#base/gateway-error.ts';

/** How many are kept for the next reply, and up to which size: memory of WebAssembly only grows. */
const mostIdle = 8;
const usualSize = 4 * 1024 ** 2;

/** Programs in WebAssembly, each of which sees to one reply at a time. */
export class ProgramPool<P extends { readonly size: number }> {
  readonly #create: () => P;
  readonly #idle: P[];

  /** Makes the first one: where not even that can be had the gateway does not start. */
  constructor(create: () => P) {
    this.#create = create;
    this.#idle = [create()];
  }

  /** Throws 502 `response-too-large` where there is no memory for another one: the call was made, and is not to be sent again for that. */
  take(): P {
    return this.#idle.pop() ?? this.#created();
  }

  /** It is done with its reply, or has refused it. One that is not given back, since the reply broke off, is garbage. */
  giveBack(program: P): void {
    if (this.#idle.length < mostIdle && program.size <= usualSize) this.#idle.push(program);
  }

  #created(): P {
    try {
      return this.#create();
    } catch (cause) {
      // V8 reserves 8 GiB of addresses for each, which `ulimit -v` may not grant.
      const detail =
        'The far side answered, but the gateway has no memory left to read its reply with. A query can be repeated in a moment.';
      throw new GatewayError('response-too-large', detail, { cause });
    }
  }
}
