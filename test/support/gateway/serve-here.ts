import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { childEnvironment, executable } from './gateway-process.ts';
import type { RunningGateway, Served } from './running-gateway.ts';

/**
 * What is used of src/serve.ts and src/config/load-config.ts. Their own types need those of src/, which do not fit the types of the DOM
 * in the tests with browsers.
 */
interface Serving {
  readonly serve: (options: object, process: object, ready: (url: string) => void) => Promise<number>;
  readonly loadConfig: (source: {
    readonly file: string;
    readonly cwd: string;
    readonly env: NodeJS.ProcessEnv;
    readonly secrets?: unknown;
  }) => Promise<{ readonly secrets: unknown }>;
}

/** From the bundle where there is one: its modules and its threads load in half the time. */
function load(bundled: string, source: string): Promise<unknown> {
  return import(new URL(executable.endsWith('.js') ? bundled : source, pathToFileURL(executable)).href);
}
const { serve } = (await load('serve.js', 'serve.ts')) as Pick<Serving, 'serve'>;
const { loadConfig } = (await load('load-config.js', 'config/load-config.ts')) as Pick<Serving, 'loadConfig'>;

/** The signals that a gateway handles. */
export type HandledSignal = 'SIGHUP' | 'SIGINT' | 'SIGTERM' | 'SIGUSR2';

/**
 * Runs `serve` in this process, with a `process` of its own. A start takes a third of the processor time of a child, and this process
 * compiles the code once for all of its gateways.
 */
export function serveHere({ directory, configFile, environment }: Served): RunningGateway<HandledSignal> {
  const stdout = new Lines();
  const stderr = new Lines();
  const signals = new EventEmitter();
  const ended = Promise.withResolvers<number>();
  const ready = Promise.withResolvers<number>();
  let end: number | undefined;
  const exit = (code: number): void => {
    end = code;
    signals.emit('exit');
    ended.resolve(code);
    ready.reject(new Error(`the gateway ended:\n${[...stdout.lines, ...stderr.lines].join('\n')}`));
  };
  const env = childEnvironment(environment);
  const source = { file: configFile, cwd: directory, env };
  const own = {
    stdout,
    stderr,
    env,
    execArgv: [],
    memoryUsage: process.memoryUsage,
    constrainedMemory: () => process.constrainedMemory(),
    isShared: true,
    on: (event: string, handler: () => void) => signals.on(event, handler),
    off: (event: string, handler: () => void) => signals.off(event, handler),
    exit: exit as (code: number) => never,
  };
  const serving = async (): Promise<number> => {
    const loaded = await loadConfig(source);
    const loadAgain = (): Promise<object> => loadConfig({ ...source, secrets: loaded.secrets });
    return serve({ ...loaded, configFile, loadAgain }, own, (url) => ready.resolve(Number(new URL(url).port)));
  };
  serving().then(exit, (error: unknown) => {
    stderr.write(`${String(error)}\n`);
    exit(1);
  });
  return {
    stdout: stdout.lines,
    stderr: stderr.lines,
    signal: (name) => void signals.emit(name),
    // The second signal.
    endNow: () => void signals.emit('SIGTERM'),
    end: () => end,
    ended: () => ended.promise,
    ready: ready.promise,
  };
}

/** Keeps what is written to it as lines. */
class Lines extends Writable {
  readonly lines: string[] = [];
  #rest = '';

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(text: string | Buffer, _encoding: string, done: () => void): void {
    const parts = (this.#rest + String(text)).split('\n');
    this.#rest = parts.pop() ?? '';
    this.lines.push(...parts);
    done();
  }
}
