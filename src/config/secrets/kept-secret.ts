import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { SecretSource } from '#base/secret.ts';
import type { SourceRead, ValueSource } from './value-source.ts';

/** Milliseconds between two reads after refusals: directories lock accounts, and sources have limits. */
const renewalPause = 5_000;
/** Milliseconds until a source that failed is tried again in the background. */
const retryPause = 5_000;

/** Never quotes the text. */
export type SecretFault = (value: string) => string | undefined;

export interface SecretState {
  /** Of the source, never the value. */
  readonly name: string;
  /** Milliseconds since the source last had the value in use. */
  readonly age: number;
  readonly failing: boolean;
}

/** `isSource`: the source could not be read; else its value cannot be used. */
interface ReadFault {
  readonly fault: string;
  readonly isSource: boolean;
  readonly detail?: string | undefined;
}

/** The last good value of a source. A value that the place refuses is no good one. */
export class KeptSecret implements SecretSource {
  readonly #source: ValueSource;
  readonly #refuse: SecretFault;
  readonly #clock: Clock;
  readonly #log: () => Log | undefined;
  #value: string | undefined;
  #goodAt = 0;
  #fault: ReadFault | undefined;
  #stamp: string | undefined;
  /** Times of the monotonic clock. */
  #readAgainAt = Number.POSITIVE_INFINITY;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<ReadFault | undefined> | undefined;

  constructor(options: {
    readonly source: ValueSource;
    readonly refuse: SecretFault;
    readonly clock: Clock;
    readonly log: () => Log | undefined;
  }) {
    this.#source = options.source;
    this.#refuse = options.refuse;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  get hasValue(): boolean {
    return this.#value !== undefined;
  }

  reveal(): string {
    return this.#value ?? '';
  }

  state(): SecretState {
    const age = Math.max(0, this.#clock.now() - this.#goodAt);
    return { name: this.#source.name, age, failing: this.#fault !== undefined };
  }

  /** All who ask meanwhile share one read. */
  read(): Promise<ReadFault | undefined> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async renew(): Promise<void> {
    const now = this.#clock.monotonic();
    if (this.#reading !== undefined || now >= this.#renewedAt + renewalPause) {
      this.#renewedAt = now;
      await this.read();
    }
  }

  /** In the background: reads where the time is over, or the stamp is another one. */
  async look(): Promise<void> {
    if (this.#reading !== undefined) return;
    if (this.#clock.monotonic() >= this.#readAgainAt) await this.read();
    else if (this.#source.stamp === undefined) return;
    else if ((await this.#source.stamp()) !== this.#stamp) await this.read();
    else if (this.#fault === undefined) this.#goodAt = this.#clock.now();
  }

  async #readNow(): Promise<ReadFault | undefined> {
    // Before the value: what is written meanwhile has another stamp.
    this.#stamp = await this.#source.stamp?.();
    const read = await this.#source.read();
    const fault = faultIn(read, this.#refuse);
    const pause = fault === undefined ? ('text' in read ? (read.renewIn ?? this.#source.ttl) : undefined) : retryPause;
    this.#readAgainAt = pause === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + pause;
    if (fault === undefined && 'text' in read) this.#take(read.text);
    else this.#fail(fault);
    return fault;
  }

  #take(text: string): void {
    const { name } = this.#source;
    if (this.#fault !== undefined && this.hasValue) this.#log()?.info('a source of a secret answers again', { reason: name });
    else if (this.hasValue && text !== this.#value) this.#log()?.info('a secret has a new value', { reason: name });
    this.#value = text;
    this.#goodAt = this.#clock.now();
    this.#fault = undefined;
  }

  #fail(fault: ReadFault | undefined): void {
    const isNew = fault?.fault !== this.#fault?.fault;
    this.#fault = fault;
    if (fault === undefined || !isNew || !this.hasValue) return;
    const detail = fault.detail === undefined || fault.detail === '' ? '' : `: ${fault.detail}`;
    const age = Math.round(this.state().age / 1_000);
    const reason = `${this.#source.name}: ${fault.fault}${detail}; the value in use is ${age} s old`;
    this.#log()?.warn('a source of a secret fails, and its last good value stays in use', { reason });
  }
}

function faultIn(read: SourceRead, refuse: SecretFault): ReadFault | undefined {
  if ('fault' in read) return { ...read, isSource: true };
  const fault = valueFault(read.text, refuse);
  return fault === undefined ? undefined : { fault, isSource: false };
}

export function valueFault(text: string, refuse: SecretFault): string | undefined {
  if (text === '') return 'is empty';
  return text.isWellFormed() ? refuse(text) : 'is not well-formed Unicode';
}
