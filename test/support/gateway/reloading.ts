import { renameSync, writeFileSync } from 'node:fs';
import type { Reply } from '../callers/http-client.ts';
import { lapse } from '../lapse.ts';
import { until } from '../until.ts';
import { configurationOf, type Gateway } from './start-gateway.ts';

/** What POST /adapters/reload answers. */
export interface Reloaded {
  readonly adapters: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>;
  readonly settings: readonly string[];
  readonly restartNeeded: readonly string[];
}

/** Replaces the gateway's configuration file, in one step as an editor does. The gateway reads the file at the next reload. */
export function rewrite(gateway: Gateway, configuration: Parameters<typeof configurationOf>[0] | string): void {
  const text = typeof configuration === 'string' ? configuration : JSON.stringify(configurationOf(configuration), undefined, 2);
  writeFileSync(`${gateway.configFile}.new`, text);
  renameSync(`${gateway.configFile}.new`, gateway.configFile);
}

export function askToReload(gateway: Gateway, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return gateway.send({ method: 'POST', target: '/adapters/reload', role: 'admin', headers });
}

/** Rewrites the file and reloads it; throws where the gateway refuses the reload. */
export async function reloadWith(gateway: Gateway, configuration: Parameters<typeof rewrite>[1]): Promise<Reloaded> {
  rewrite(gateway, configuration);
  const reply = await askToReload(gateway);
  if (reply.status !== 200) throw new Error(`reload: ${reply.status} ${reply.text}`);
  return reply.json() as Reloaded;
}

/** Sends SIGHUP; answers the log lines from then on, once they hold the outcome of the reload. */
export async function hangUp(gateway: Gateway): Promise<readonly LogLine[]> {
  const from = gateway.stderr.length;
  gateway.kill('SIGHUP');
  const written = (): readonly LogLine[] => logLines(gateway).slice(from);
  await until('the reload is logged', () => written().some(({ msg }) => /the configuration was (not )?taken in again/.test(msg)));
  await lapse(200, 'the log writes its other lines of the reload within 100 ms');
  return written();
}

/** Resolves once the log lines of everything before have arrived. The log level must be info or lower. */
export async function logCaughtUp(gateway: Gateway): Promise<void> {
  const requestId = crypto.randomUUID();
  await gateway.send({ target: '/healthz', headers: { 'X-Request-Id': requestId } });
  await until('the log has caught up', () => gateway.stderr.some((line) => line.includes(requestId)));
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly requestId?: string;
  readonly file?: string;
  readonly path?: string;
  readonly reason?: string;
}

export function logLines(gateway: Gateway): readonly LogLine[] {
  return gateway.stderr.map((line) => JSON.parse(line) as LogLine);
}
