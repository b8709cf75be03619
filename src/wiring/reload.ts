import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { ConfigError, type ConfigProblem, formatConfigProblem } from '#config/config-problem.ts';
import type { LoadedConfig } from '#config/load-config.ts';
import { sameConfig } from '#config/same-config.ts';
import type { AdapterChanges, LiveParts } from './live-parts.ts';

/** What a reload changed; names only. */
export interface ReloadResult {
  readonly adapters: AdapterChanges;
  /** Other keys that changed with it and are in force. */
  readonly settings: readonly string[];
  /** Keys whose value in the file is not the one that the gateway was started with, and that it cannot change while it runs. */
  readonly restartNeeded: readonly string[];
}

/** Takes the configuration in again while the gateway runs. */
interface Reloading {
  /**
   * All of it or nothing; what came of it is logged. Reloads happen one after the other, and one that waits is shared by all who
   * ask meanwhile. Rejects with `configuration-invalid` or `reload-unavailable`.
   */
  reload(): Promise<ReloadResult>;
  /** Resolves once the reload that is under way, if any, is over; there is none after it. */
  stop(): Promise<void>;
}

interface ReloadingOptions {
  /** What the gateway was started with. */
  readonly config: Config;
  /** Reads the configuration once more; undefined where there is nothing to read. Rejects with a ConfigError. */
  readonly load: (() => Promise<LoadedConfig>) | undefined;
  readonly live: LiveParts;
  /** Has everything else follow, at once. Called before `live` changes, so that nothing has where it throws. */
  readonly follow: (next: Config, current: Config) => void;
  readonly log: Log;
}

export function createReloading({ config, load, live, follow, log }: ReloadingOptions): Reloading {
  let current = config;
  let stopped = false;
  let last: Promise<unknown> = Promise.resolve();
  let waiting: Promise<ReloadResult> | undefined;

  const apply = async (): Promise<ReloadResult> => {
    if (load === undefined) throw nothingToLoad();
    const { config: next, warnings } = await load();
    if (stopped) throw new GatewayError('reload-unavailable', 'The gateway is stopping.');
    logConfigWarnings(log, warnings);
    const parts = live.prepare(next);
    try {
      follow(next, current);
    } catch (error) {
      parts.discard();
      throw error;
    }
    parts.commit();
    const settings = changedSettings({ started: config, current, next });
    current = next;
    return { adapters: parts.adapters, settings, restartNeeded: restartNeeded(config, next) };
  };

  const applyAndLog = async (): Promise<ReloadResult> => {
    try {
      const result = await apply();
      logResult(log, result);
      return result;
    } catch (error) {
      logFailure(log, error);
      throw error instanceof ConfigError ? invalid(error) : error;
    }
  };

  return {
    reload() {
      if (waiting !== undefined) return waiting;
      const mine = last.then(() => {
        waiting = undefined;
        return applyAndLog();
      });
      waiting = mine;
      last = mine.catch(() => {});
      return mine;
    },
    async stop() {
      stopped = true;
      await last;
    },
  };
}

/** One line for each, at the start and at every reload. */
export function logConfigWarnings(log: Log, warnings: readonly ConfigProblem[]): void {
  for (const { file, line, path, message } of warnings)
    log.warn('configuration', { file: `${file}:${line}`, reason: path === '' ? message : `${path}: ${message}` });
}

/** What the gateway is built around: keys of the file, and how to look them up. Certificates of `server.tls` are replaced as it runs. */
const fixedKeys: readonly (readonly [string, (config: Config) => unknown])[] = [
  ['server.host', ({ server }) => server.host],
  ['server.port', ({ server }) => server.port],
  ['server.tls', ({ server }) => server.tls !== undefined],
  ['server.requestBodyLimit', ({ server }) => server.requestBodyLimit],
  ['server.openMetrics', ({ server }) => server.openMetrics],
  ['server.trustedProxies', ({ server }) => server.trustedProxies],
  ['store.url', ({ store }) => store],
  ['audit', ({ audit }) => audit],
];

function restartNeeded(started: Config, next: Config): readonly string[] {
  return fixedKeys.filter(([, read]) => !sameConfig(read(started), read(next))).map(([key]) => key);
}

/** Keys that are followed one by one; `adapters` are told by their names. */
function changedSettings({
  started,
  current,
  next,
}: Readonly<Record<'started' | 'current' | 'next', Config>>): readonly string[] {
  const fixed = new Set(fixedKeys.map(([key]) => key));
  // Certificates are replaced, but neither taken up nor given up while it runs.
  if (started.server.tls !== undefined && next.server.tls !== undefined) fixed.delete('server.tls');
  return (['server', 'access', 'outbound'] as const).flatMap((section) => {
    const before: Readonly<Record<string, unknown>> = { ...current[section] };
    const after: Readonly<Record<string, unknown>> = { ...next[section] };
    return Object.keys({ ...before, ...after })
      .filter((key) => !fixed.has(`${section}.${key}`) && !sameConfig(before[key], after[key]))
      .map((key) => `${section}.${key}`);
  });
}

function logResult(log: Log, { adapters, settings, restartNeeded: keys }: ReloadResult): void {
  const { unchanged, ...changes } = adapters;
  const said = Object.entries(changes).flatMap(([what, names]) =>
    names.length === 0 ? [] : `${what} ${names.map((name) => JSON.stringify(name)).join(', ')}`,
  );
  const reason = [...said, `${unchanged.length} unchanged`].join('; ');
  const others = settings.length === 0 ? '' : `; settings: changed ${settings.join(', ')}`;
  log.info('the configuration was taken in again', { reason: `adapter instances: ${reason}${others}` });
  if (keys.length > 0) log.warn('some of what changed needs a restart', { reason: keys.join(', ') });
}

function logFailure(log: Log, error: unknown): void {
  const message = 'the configuration was not taken in again; nothing changed';
  if (error instanceof ConfigError) {
    for (const { file, line, column, path, message: problem } of error.problems)
      log.error(message, { file: `${file}:${line}:${column}`, reason: path === '' ? problem : `${path}: ${problem}` });
  } else if (error instanceof GatewayError) log.warn(message, { reason: error.message });
  else log.error(message, { errorName: error instanceof Error ? error.name : 'unknown' });
}

/** Problems that a reply lists; the log has them all. */
const mostListed = 100;

function invalid({ problems }: ConfigError): GatewayError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new GatewayError(
    'configuration-invalid',
    `The configuration has ${count}, so that nothing was changed: correct what errors lists, then reload again.`,
    // It is the file that has them, and not this request: there is nothing for a pointer to point at.
    { errors: problems.slice(0, mostListed).map((problem) => ({ pointer: '', detail: formatConfigProblem(problem) })) },
  );
}

function nothingToLoad(): GatewayError {
  return new GatewayError(
    'reload-unavailable',
    'This gateway was not started with a configuration file: the demo writes its own at each start.',
  );
}
