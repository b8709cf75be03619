import { type Clock, systemClock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { KeptSecret, type SecretFault, type SecretState } from './kept-secret.ts';
import type { ValueSource } from './value-source.ts';

/** Milliseconds between two looks at the sources. */
const lookInterval = 1_000;

interface Known {
  readonly kept: KeptSecret;
  readonly refuse: SecretFault;
  readonly key: string;
  /** The last reading of the configuration that named it. */
  reading: number;
}

/** The sources of all secrets of a gateway, over its reloads: an unchanged source stays the same, with its last good value. */
export class SecretSources {
  readonly #clock: Clock;
  #known: Known[] = [];
  #reading = 0;
  #log: Log | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** A reading of the configuration begins. */
  begin(): void {
    this.#reading += 1;
  }

  /** The last reading is in force: what only earlier ones named goes. */
  settle(): void {
    this.#known = this.#known.filter(({ reading }) => reading === this.#reading);
  }

  take(source: ValueSource, refuse: SecretFault): KeptSecret {
    const { key = source.name } = source;
    const known = this.#known.find((one) => one.key === key && one.refuse === refuse);
    if (known !== undefined) {
      known.reading = this.#reading;
      return known.kept;
    }
    const kept = new KeptSecret({ source, refuse, clock: this.#clock, log: () => this.#log });
    this.#known.push({ kept, refuse, key, reading: this.#reading });
    return kept;
  }

  /** Without it the gateway is not running yet, and problems have to say all. */
  get isWatched(): boolean {
    return this.#log !== undefined;
  }

  /** Reads in the background what is due, until the gateway ends. */
  watch(log: Log): { close(): void } {
    this.#log = log;
    this.settle();
    const timer = setInterval(() => {
      for (const { kept } of this.#known) void kept.look();
    }, lookInterval);
    timer.unref();
    return { close: () => clearInterval(timer) };
  }

  /** Of the sources that fail. `age`: seconds since the oldest value in use was good; 0 if none fails. */
  failing(): { readonly failing: number; readonly age: number } {
    const ages = new Map(this.states().flatMap(({ name, age, failing }) => (failing ? [[name, age] as const] : [])));
    return { failing: ages.size, age: Math.round(Math.max(0, ...ages.values()) / 1_000) };
  }

  /** With a value; a source that several places check differently is there for each. */
  states(): readonly SecretState[] {
    return this.#known.filter(({ kept }) => kept.hasValue).map(({ kept }) => kept.state());
  }
}
