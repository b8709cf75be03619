import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childEnvironment, collect } from '../gateway/gateway-process.ts';
import { programs, unprivileged } from '../stores/own-postgres.ts';
import { until } from '../until.ts';

interface NodeOptions {
  readonly name: string;
  /** Of the whole cluster. */
  readonly directory: string;
  readonly configuration: string;
  /** `127.0.0.1:PORT` of PostgreSQL and of Patroni's REST API. */
  readonly postgres: string;
  readonly api: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Patroni and its PostgreSQL: what a machine of a cluster runs. */
export class PatroniNode {
  readonly #options: NodeOptions;
  #patroni: ChildProcess | undefined;
  /** What Patroni has written, by line. */
  #lines: readonly string[] = [];

  constructor(options: NodeOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get postgres(): string {
    return this.#options.postgres;
  }

  get api(): string {
    return this.#options.api;
  }

  /** The last lines of Patroni, for a failed test. */
  get lastLines(): readonly string[] {
    return this.#lines.slice(-15);
  }

  start(): void {
    const { name, directory, configuration, postgres, api, environment } = this.#options;
    const child = spawn('patroni', [configuration], {
      ...unprivileged(),
      cwd: directory,
      env: childEnvironment({
        ...environment,
        PATRONI_NAME: name,
        PATRONI_RESTAPI_LISTEN: api,
        PATRONI_RESTAPI_CONNECT_ADDRESS: api,
        PATRONI_POSTGRESQL_LISTEN: postgres,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: postgres,
        PATRONI_POSTGRESQL_DATA_DIR: this.#data,
        PATRONI_POSTGRESQL_PGPASS: join(directory, `${name}.pgpass`),
        PATRONI_POSTGRESQL_BIN_DIR: programs ?? '',
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.on('error', (error) => console.error(error));
    this.#lines = collect(child).stderr;
    this.#patroni = child;
  }

  /** As a machine that loses its power. */
  async kill(): Promise<void> {
    const patroni = this.#patroni;
    this.#patroni = undefined;
    const isRunning = patroni !== undefined && patroni.exitCode === null && patroni.signalCode === null;
    const ended = isRunning ? once(patroni, 'exit') : undefined;
    patroni?.kill('SIGKILL');
    await until(`the processes of ${this.name} are gone`, () => {
      const processes = this.#serverProcesses();
      for (const pid of processes) signal(pid, 'SIGKILL');
      return processes.length === 0;
    });
    await ended;
  }

  /** As a machine that hangs, until `resume`. */
  pause(): void {
    this.#signalAll('SIGSTOP');
  }

  resume(): void {
    this.#signalAll('SIGCONT');
  }

  /** Stops what sends the log of changes to the standby: what is committed from now on is lost with this machine. */
  async stopSending(): Promise<void> {
    const senders = (): readonly number[] => this.#serverProcesses().filter((pid) => commandOf(pid).includes('walsender'));
    await until(`${this.name} sends to its standby`, () => senders().length > 0);
    for (const pid of senders()) signal(pid, 'SIGSTOP');
  }

  get #data(): string {
    return join(this.#options.directory, this.name);
  }

  #signalAll(name: NodeJS.Signals): void {
    this.#patroni?.kill(name);
    for (const pid of this.#serverProcesses()) signal(pid, name);
  }

  /** PostgreSQL and its tools, which name the data directory, and their children. Patroni is no parent of PostgreSQL. */
  #serverProcesses(): readonly number[] {
    const all = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && isAlive(pid));
    const parents = new Set(all.filter((pid) => commandOf(pid).includes(this.#data)));
    return all.filter((pid) => parents.has(pid) || parents.has(parentOf(pid)));
  }
}

function commandOf(pid: number): string {
  return read(pid, 'cmdline').replaceAll('\0', ' ');
}

/** The second field after the name in brackets (proc(5), `/proc/pid/stat`). */
function parentOf(pid: number): number {
  return Number(read(pid, 'stat').split(') ').at(-1)?.split(' ')[1]);
}

function isAlive(pid: number): boolean {
  return !['', 'Z'].includes(read(pid, 'stat').split(') ').at(-1)?.charAt(0) ?? '');
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
