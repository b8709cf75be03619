import type { AuditLog } from '#audit/audit-log.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { ConfigError, type ConfigProblem, formatConfigProblem, type LoadedConfig } from '#config/load-config.ts';
import { sameConfig } from '#config/same-config.ts';
import type { AdapterChanges, LiveParts } from './live-parts.ts';

/** The changes of a reload; names only. */
export interface ReloadResult {
  readonly adapters: AdapterChanges;
  /** Other changed keys that are now in force. */
  readonly settings: readonly string[];
  /** Keys that differ from the start of the gateway, and that only a restart puts in force. */
  readonly restartNeeded: readonly string[];
}

/** Who asks for a reload: the caller of the route, or a process of the gateway's machine. */
export type ReloadAsker = 'SIGHUP' | { readonly principal: string; readonly requestId: string };

/** Reloads the configuration while the gateway runs. */
export interface Reloading {
  /**
   * Puts all of the configuration in force or nothing, and logs the result. One that is in force goes on record, with its askers. Reloads run one after the other. Requests for a reload that
   * come while one waits share the waiting one. Rejects with `configuration-invalid` or `reload-unavailable`.
   */
  reload(asker: ReloadAsker): Promise<ReloadResult>;
  /** Resolves once the current reload, if any, has ended; no reload begins after that. */
  stop(): Promise<void>;
}

interface ReloadingOptions {
  /** The configuration at the start of the gateway. */
  readonly config: Config;
  /** Reads the configuration again; undefined where there is no file to read. Rejects with a ConfigError. */
  readonly load: (() => Promise<LoadedConfig>) | undefined;
  readonly live: LiveParts;
  /** Updates all other parts, synchronously. Called before `live` changes, so that nothing has changed where it throws. */
  readonly follow: (next: Config, current: Config) => void;
  /** Does what follows from the new configuration. Never rejects. */
  readonly inForce: (next: Config, before: Config) => Promise<void>;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly log: Log;
}

export function createReloading({ config, load, live, follow, inForce, audit, log }: ReloadingOptions): Reloading {
  let current = config;
  let stopped = false;
  let last: Promise<unknown> = Promise.resolve();
  let waiting: { readonly reloaded: Promise<ReloadResult>; readonly askers: ReloadAsker[] } | undefined;

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
    await inForce(next, current);
    const settings = changedSettings({ started: config, current, next });
    current = next;
    return { adapters: parts.adapters, settings, restartNeeded: restartNeeded(config, next) };
  };

  const applyAndLog = async (askers: readonly ReloadAsker[]): Promise<ReloadResult> => {
    try {
      const result = await apply();
      record(audit, result, askers);
      logResult(log, result);
      return result;
    } catch (error) {
      logFailure(log, error);
      throw error instanceof ConfigError ? invalid(error) : error;
    }
  };

  return {
    reload(asker) {
      if (waiting !== undefined) {
        waiting.askers.push(asker);
        return waiting.reloaded;
      }
      const askers = [asker];
      const reloaded = last.then(() => {
        waiting = undefined;
        return applyAndLog(askers);
      });
      waiting = { reloaded, askers };
      last = reloaded.catch(() => {});
      return reloaded;
    },
    async stop() {
      stopped = true;
      await last;
    },
  };
}

/** Writes one line for each warning, at the start and at every reload. */
export function logConfigWarnings(log: Log, warnings: readonly ConfigProblem[]): void {
  for (const { file, line, path, message } of warnings)
    log.warn('configuration', { file: `${file}:${line}`, reason: path === '' ? message : `${path}: ${message}` });
}

/** After what a changed key is in force. The compiler asks for each new key of these sections. */
const inForceAfter: {
  readonly [S in 'server' | 'automations' | 'mcp']: Readonly<Record<keyof Config[S], 'reload' | 'restart'>>;
} = {
  server: {
    host: 'restart',
    port: 'restart',
    // A reload replaces certificates, but cannot switch TLS on or off: see `fixedKeys`.
    tls: 'reload',
    requestBodyLimit: 'restart',
    openMetrics: 'restart',
    console: 'restart',
    trustedProxies: 'restart',
    publicUrl: 'restart',
    rateLimit: 'reload',
    logLevel: 'reload',
    drain: 'restart',
  },
  automations: {
    tasks: 'restart',
    retention: 'restart',
    storePerPerson: 'reload',
    taskData: 'reload',
    afterLoss: 'reload',
    secrets: 'reload',
  },
  mcp: {
    enabled: 'restart',
    readOnly: 'reload',
    metadata: 'reload',
  },
};

type FixedKey = readonly [key: string, read: (config: Config) => unknown];

/** Keys that only a restart puts in force, and how to read them. */
export const fixedKeys: readonly FixedKey[] = [
  ...fixedIn('server'),
  ['server.tls', ({ server }) => server.tls !== undefined],
  ['store.url', ({ store }) => (store.kind === 'sqlite' ? store.file : store.url)],
  ['store.startTimeout', ({ store }) => store.startTimeout],
  ['audit', ({ audit }) => audit],
  ...fixedIn('automations'),
  ...fixedIn('mcp'),
];

function fixedIn(section: keyof typeof inForceAfter): readonly FixedKey[] {
  const keys = Object.entries(inForceAfter[section]).filter(([, what]) => what === 'restart');
  return keys.map(([key]) => {
    const read = (config: Config): unknown => membersOf(config, section)[key];
    return [`${section}.${key}`, read];
  });
}

function membersOf(
  config: Config,
  section: 'server' | 'access' | 'outbound' | 'automations' | 'mcp',
): Readonly<Record<string, unknown>> {
  return { ...config[section] };
}

function restartNeeded(started: Config, next: Config): readonly string[] {
  return fixedKeys.filter(([, read]) => !sameConfig(read(started), read(next))).map(([key]) => key);
}

/** The changed keys that a reload puts in force; `adapters` are reported by name instead. */
function changedSettings({
  started,
  current,
  next,
}: Readonly<Record<'started' | 'current' | 'next', Config>>): readonly string[] {
  const fixed = new Set(fixedKeys.map(([key]) => key));
  // A reload replaces certificates, but cannot switch TLS on or off.
  if (started.server.tls !== undefined && next.server.tls !== undefined) fixed.delete('server.tls');
  const members = (['server', 'access', 'outbound', 'automations', 'mcp'] as const).flatMap((section) => {
    const [before, after] = [membersOf(current, section), membersOf(next, section)];
    return Object.keys({ ...before, ...after })
      .filter((key) => !fixed.has(`${section}.${key}`) && !sameConfig(before[key], after[key]))
      .map((key) => `${section}.${key}`);
  });
  const lists = (['vault', 'approvals', 'notifications'] as const).filter(
    (section) => !sameConfig(current[section], next[section]),
  );
  return [...members, ...lists];
}

function record(audit: Pick<AuditLog, 'record'>, result: ReloadResult, askers: readonly ReloadAsker[]): void {
  const { restartNeeded: keys } = result;
  const restart = keys.length === 0 ? '' : `; a restart is needed for ${keys.join(', ')}`;
  const names = new Set(askers.map((asker) => (asker === 'SIGHUP' ? asker : JSON.stringify(asker.principal))));
  const caller = askers.find((asker) => asker !== 'SIGHUP');
  const detail = `taken in again, as ${[...names].join(', ')} asked: ${changesOf(result)}${restart}`;
  audit.record({ event: 'configuration', ...caller, detail });
}

/** The changes in words; names only. */
function changesOf({ adapters, settings }: ReloadResult): string {
  const { unchanged, ...changes } = adapters;
  const said = Object.entries(changes).flatMap(([what, names]) =>
    names.length === 0 ? [] : `${what} ${names.map((name) => JSON.stringify(name)).join(', ')}`,
  );
  const reason = [...said, `${unchanged.length} unchanged`].join('; ');
  const others = settings.length === 0 ? '' : `; settings: changed ${settings.join(', ')}`;
  return `adapter instances: ${reason}${others}`;
}

function logResult(log: Log, result: ReloadResult): void {
  const { restartNeeded: keys } = result;
  log.info('the configuration was taken in again', { reason: changesOf(result) });
  if (keys.length > 0) log.warn('some changed keys need a restart', { reason: keys.join(', ') });
}

function logFailure(log: Log, error: unknown): void {
  const message = 'the configuration was not taken in again; nothing changed';
  if (error instanceof ConfigError) {
    for (const { file, line, column, path, message: problem } of error.problems)
      log.error(message, { file: `${file}:${line}:${column}`, reason: path === '' ? problem : `${path}: ${problem}` });
  } else if (error instanceof GatewayError) log.warn(message, { reason: error.message });
  else log.error(message, { errorName: error instanceof Error ? error.name : 'unknown' });
}

/** Most problems that a reply lists; the log has all of them. */
const maxListed = 100;

function invalid({ problems }: ConfigError): GatewayError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new GatewayError(
    'configuration-invalid',
    `The configuration has ${count}, so nothing was changed: correct the places that errors lists, then reload again.`,
    // The pointers are empty: the problems are in the file, not in this request.
    { errors: problems.slice(0, maxListed).map((problem) => ({ pointer: '', detail: formatConfigProblem(problem) })) },
  );
}

function nothingToLoad(): GatewayError {
  return new GatewayError(
    'reload-unavailable',
    'This gateway has no configuration file to reload: the demo writes a new one at each start.',
  );
}
