import { inspect } from 'node:util';

/** Holds the present value of a secret, and reads it again. */
export interface SecretSource {
  reveal(): string;
  /** After a refusal by the far side; at most every five seconds. Never rejects. */
  renew(): Promise<void>;
}

/** A string that only `reveal()` returns, as it is now: printing, logging or serialising it gives `[secret]`. */
export class Secret {
  readonly #held: string | SecretSource;

  constructor(held: string | SecretSource) {
    this.#held = held;
  }

  reveal(): string {
    return typeof this.#held === 'string' ? this.#held : this.#held.reveal();
  }

  /** The far side refused the value: its source is read again. Never rejects. */
  async renew(): Promise<void> {
    if (typeof this.#held !== 'string') await this.#held.renew();
  }

  /** The same fixed value, or the same source. */
  isSameAs(other: Secret): boolean {
    return this.#held === other.#held;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
