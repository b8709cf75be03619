import { renameSync, writeFileSync } from 'node:fs';
import type { Reply } from '../callers/http-client.ts';
import { until } from '../until.ts';
import { configurationOf, type Gateway } from './start-gateway.ts';

/** What POST /adapters/reload answers. */
export interface Reloaded {
  readonly adapters: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>;
  readonly settings: readonly string[];
  readonly restartNeeded: readonly string[];
}

/** Gives the gateway another configuration file, in one step as an editor does; it is not read before a reload. */
export function rewrite(gateway: Gateway, configuration: Parameters<typeof configurationOf>[0] | string): void {
  const text = typeof configuration === 'string' ? configuration : JSON.stringify(configurationOf(configuration), undefined, 2);
  writeFileSync(`${gateway.configFile}.new`, text);
  renameSync(`${gateway.configFile}.new`, gateway.configFile);
}

export function askToReload(gateway: Gateway, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return gateway.send({ method: 'POST', target: '/adapters/reload', role: 'admin', headers });
}

/** Rewrites the file and has it reloaded; throws where that fails. */
export async function reloadWith(gateway: Gateway, configuration: Parameters<typeof rewrite>[1]): Promise<Reloaded> {
  rewrite(gateway, configuration);
  const reply = await askToReload(gateway);
  if (reply.status !== 200) throw new Error(`reload: ${reply.status} ${reply.text}`);
  return reply.json() as Reloaded;
}

/** Sends SIGHUP and waits for what the gateway logs of it. */
export async function hangUp(gateway: Gateway): Promise<readonly LogLine[]> {
  const from = gateway.stderr.length;
  gateway.kill('SIGHUP');
  const told = (): readonly LogLine[] => logLines(gateway).slice(from);
  await until('the reload is logged', () => told().some(({ msg }) => /the configuration was (not )?taken in again/.test(msg)));
  // What came with them is written a tenth of a second later at the latest.
  await new Promise((resolve) => setTimeout(resolve, 200));
  return told();
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly file?: string;
  readonly reason?: string;
}

export function logLines(gateway: Gateway): readonly LogLine[] {
  return gateway.stderr.map((line) => JSON.parse(line) as LogLine);
}
