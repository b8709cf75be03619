import { Session } from 'node:inspector/promises';
import type { Writable } from 'node:stream';
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { createLog, type Log, type ProcessLog, readableLines } from '#base/log.ts';
import { packageVersion } from '#base/package-version.ts';
import type { ServeOptions } from '#cli/command.ts';
import { tryPrint } from '#cli/output.ts';
import type { ProcessMemory } from '#http/admission/pressure.ts';
import type { Gateway } from '#wiring/gateway.ts';
import { listenAdvice } from '#wiring/offline/listening.ts';
import { logConfigWarnings } from '#wiring/reload.ts';

/** The members of Node's `process` that `serve` uses. */
export interface ServingProcess extends ProcessMemory {
  readonly stdout: Writable;
  /** Without `fd` it is a stream of a test, and the log is written to the stream itself. */
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly execArgv: readonly string[];
  on(event: Signal | 'exit', handler: () => void): unknown;
  off(signal: Signal, handler: () => void): unknown;
  exit(code: number): never;
}

type Signal = 'SIGHUP' | 'SIGINT' | 'SIGTERM' | 'SIGUSR2';

/** Further milliseconds until everything is closed: the audit log still has to record the outcomes of the aborted calls. */
const closeLimit = 5_000;

/** Runs a gateway until SIGTERM or SIGINT; resolves to the exit code. Calls `ready` with its address once it listens. */
export async function serve(
  options: ServeOptions,
  process: ServingProcess,
  ready: (url: string) => void = () => {},
): Promise<number> {
  const { config, warnings } = options;
  const log = createLog({ level: config.server.logLevel, ...logDestination(process) });
  process.on('exit', () => log.end());
  const refusal = unsafeEnvironment(process);
  if (refusal !== undefined) {
    process.stderr.write(`orchestration-gateway: ${refusal}\n`);
    return 1;
  }
  logConfigWarnings(log, warnings);
  // From the start on: without a handler these signals would end the process.
  process.on('SIGUSR2', debugToggle(log));
  const hangUpEarly = (): void => log.warn('SIGHUP: the gateway is starting and has already read its configuration');
  process.on('SIGHUP', hangUpEarly);
  // Nothing is in flight yet. Without a handler the first process of a container (PID 1) ignores these signals, and would go on to serve.
  const endEarly = (): void => process.exit(0);
  process.on('SIGTERM', endEarly);
  process.on('SIGINT', endEarly);
  const gateway = await start(options, log, process);
  process.off('SIGTERM', endEarly);
  process.off('SIGINT', endEarly);
  process.off('SIGHUP', hangUpEarly);
  if (gateway === undefined) return 1;
  // Before the line is printed: its reader may send a signal at once.
  const drained = drainOnSignal(gateway, { log, process, limit: config.server.drain });
  const unprinted = await tryPrint(process.stdout, `listening on ${gateway.url}\n`);
  if (unprinted !== undefined) log.warn('the line "listening on …" was not printed', { reason: unprinted.message });
  ready(gateway.url);
  return drained;
}

/** Empty: the log writes to the descriptor of standard error. */
function logDestination({ stderr }: ServingProcess): Partial<Parameters<typeof createLog>[0]> {
  if (stderr.isTTY === true) return { destination: readableLines(stderr) };
  return stderr.fd === undefined ? { destination: stderr } : {};
}

/** Switches the log level to debug, and back to the level before (to info, if that was debug or trace). The log has a line for each change. */
function debugToggle(log: ProcessLog): () => void {
  let usual: ProcessLog['level'] = log.level === 'debug' || log.level === 'trace' ? 'info' : log.level;
  return () => {
    const before = log.level;
    const level = before === 'debug' || before === 'trace' ? usual : 'debug';
    if (level === 'debug') usual = before;
    // At info between the two changes, so that any old or new level shows the line.
    log.setLevel('info');
    log.info('SIGUSR2: the log level is changed', { reason: `from ${before} to ${level}` });
    log.setLevel(level);
  };
}

/** Refuses variables and options that switch certificate checks off, or send calls through a proxy that is not in the configuration. */
function unsafeEnvironment({ env, execArgv }: ServingProcess): string | undefined {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    return 'NODE_TLS_REJECT_UNAUTHORIZED=0 switches all certificate checks off. Unset it; name a CA with tls.caFile instead.';
  }
  if (env['NODE_USE_ENV_PROXY'] !== undefined && env['NODE_USE_ENV_PROXY'] !== '0') {
    return 'NODE_USE_ENV_PROXY is set, but proxies belong in the configuration only. Unset it.';
  }
  // Node accepts options in quotes and with underscores, too.
  const options = (env['NODE_OPTIONS'] ?? '').replaceAll('"', ' ').split(/\s+/u);
  const unsafe = [...options, ...execArgv]
    .map((option) => option.replaceAll('_', '-'))
    .find((option) => unsafeOptions.has(option.split('=', 1)[0] ?? ''));
  return unsafe === undefined ? undefined : `Node's option ${unsafe.split('=', 1)[0]} ${unsafeWhy}. Leave it out.`;
}

const unsafeOptions: ReadonlySet<string> = new Set([
  '--insecure-http-parser',
  '--tls-keylog',
  '--tls-min-v1.0',
  '--tls-min-v1.1',
  '--use-env-proxy',
]);
const unsafeWhy = 'weakens TLS or the HTTP parser, or sends calls through a proxy that is not in the configuration';

async function start(
  { config, secrets, loadAgain }: ServeOptions,
  log: ProcessLog,
  process: ServingProcess,
): Promise<Gateway | undefined> {
  try {
    const version = await packageVersion();
    // This loads nearly all modules, which a start that is refused does not need.
    const { startGateway } = await import('#wiring/gateway.ts');
    // Of a process of tests it would take a third of a second, and the garbage is not the gateway's.
    if (process.isShared !== true) await collectGarbage();
    return await startGateway({
      config,
      secrets,
      loadAgain,
      log,
      clock: systemClock,
      version,
      memory: process,
      environment: process.env,
    });
  } catch (error) {
    process.stderr.write(`orchestration-gateway: it did not start: ${reason(error, config.server)}\n`);
    return undefined;
  }
}

function reason(error: unknown, server: { readonly host: string; readonly port: number }): string {
  if (error instanceof GatewayError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return listenAdvice(code, server) ?? message;
}

/**
 * SIGHUP reloads. Resolves to the exit code after SIGTERM or SIGINT, once everything is closed; a second signal exits at once. `limit`:
 * milliseconds that calls in flight have to end before they are aborted.
 */
function drainOnSignal(
  gateway: Gateway,
  { log, process, limit }: { readonly log: Log; readonly process: ServingProcess; readonly limit: number },
): Promise<number> {
  return new Promise((resolve) => {
    let draining = false;
    const drain = (): void => {
      if (draining) {
        gateway.abort();
        process.exit(1);
      }
      draining = true;
      log.info(`draining: no new connections; calls in flight have ${limit / 1000} seconds to end`);
      let exitTimer: NodeJS.Timeout | undefined;
      const drainTimer = setTimeout(() => {
        log.error('calls in flight did not end in time; they are aborted');
        gateway.abort();
        exitTimer = setTimeout(() => process.exit(0), closeLimit);
      }, limit);
      gateway.stop().then(
        () => {
          clearTimeout(drainTimer);
          clearTimeout(exitTimer);
          process.off('SIGHUP', reload);
          resolve(0);
        },
        (error: unknown) => {
          log.error('the gateway did not close cleanly', { errorName: error instanceof Error ? error.name : 'unknown' });
          // A part that did not close would keep the process alive.
          process.exit(1);
        },
      );
    };
    const reload = (): void => {
      if (draining) log.warn('SIGHUP: the gateway is stopping and does not reload its configuration');
      // The reload itself logs its result.
      else gateway.reload('SIGHUP').catch(() => {});
    };
    process.on('SIGTERM', drain);
    process.on('SIGINT', drain);
    process.on('SIGHUP', reload);
  });
}

/**
 * V8 keeps 30 MiB of garbage and of room for it that the loading of the modules made. An idle process does not allocate enough for V8 to
 * collect.
 */
async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}
