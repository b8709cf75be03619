import { glob, readFile } from 'node:fs/promises';
import { mock } from 'node:test';
import { Registry } from 'prom-client';
import { mayImport } from '../../architecture.mjs';
import { limits } from '../../src/base/limits.ts';
import { commands } from '../../src/cli/cli.ts';
import { clientConfigurations } from '../../src/cli/commands/offline/mcp-config.ts';
import { commandHelp, programHelp } from '../../src/cli/texts/help.ts';
import { traceVariables } from '../../src/telemetry/trace-settings.ts';
import { fixedKeys } from '../../src/wiring/reload.ts';
import { type ConfigKey, configKeys } from './config-keys.ts';
import { anchorOf, type MadePart, table } from './made-parts.ts';

/** The parts that are made from values, comments and pages of the source. */
export async function sourceParts(): Promise<readonly MadePart[]> {
  const keys = Map.groupBy(configKeys(), ({ path }) => /^\w+/u.exec(path)?.[0] ?? '');
  const folders = Object.entries(mayImport).map(([folder, others]) => [folder, others.join(', ') || '–']);
  const limited = Object.entries(limits).map(([name, { what, limit, beyond }]) => [`\`${name}\``, what, limit, beyond]);
  const variables = Object.entries(traceVariables).map(([name, { meaning, standard }]) => [`\`${name}\``, meaning, standard]);
  return [
    ['import table', table(['folder', 'imports'], folders)],
    ['questions', table(['question', 'folder'], await questions())],
    ['help', fenced(programHelp(commands))],
    ...commands.map((command): MadePart => [`help of ${command.name}`, fenced(commandHelp(command))]),
    ...[...keys].map(([section, own]): MadePart => [`keys of ${section}`, table(keyColumns, own.map(keyRow))]),
    ['keys that need a restart', fixedKeys.map(([key]) => `\`${key}\``).join(', ')],
    ['configuration of MCP clients', clientBlocks()],
    ['limits', table(['name', 'what is limited', 'limit', 'beyond it'], limited)],
    ['trace variables', table(['variable', 'meaning', 'default'], variables)],
    ['log fields', table(['field', 'meaning'], await logFields())],
  ];
}

function clientBlocks(): string {
  const blocks = clientConfigurations('https://gateway.example.net').map(
    ({ title, file, text }) => `**${title}**, in ${file}:\n\n\`\`\`json\n${text}\`\`\``,
  );
  return blocks.join('\n\n');
}

/** The headings of the pages of src/ that are questions. */
async function questions(): Promise<readonly (readonly string[])[]> {
  const pages = (await Array.fromAsync(glob('src/*/README.md'))).toSorted();
  const rows = pages.map(async (page) => {
    const found = (await readFile(page, 'utf8')).matchAll(/^## (.+\?)$/gmu);
    return [...found].map(([, question = '']) => [`[${question}](../${page}#${anchorOf(question)})`, page.split('/')[1] ?? '']);
  });
  return (await Promise.all(rows)).flat();
}

function fenced(text: string): string {
  return `\`\`\`text\n${text}\`\`\``;
}

const keyColumns = ['key', 'type', 'default', 'meaning'];

function keyRow({ path, only, type, default: standard, meaning }: ConfigKey): readonly string[] {
  const value = standard === 'required' || standard === '–' ? standard : `\`${standard}\``;
  return [`\`${path}\`${only === undefined ? '' : ` (${only})`}`, type, value, meaning];
}

/** The members of `LogFields`, each with its comment. */
async function logFields(): Promise<readonly (readonly string[])[]> {
  const source = await readFile(new URL('../../src/base/log.ts', import.meta.url), 'utf8');
  const [, members = ''] = /export interface LogFields \{\n(.*?)\n\}/su.exec(source) ?? [];
  const fields = [...members.matchAll(/\/\*\*\s(?<comment>(?:(?!\*\/)[\s\S])*)\*\/\n {2}readonly (?<name>\w+)\?:/gu)];
  if (fields.length !== members.match(/^ {2}readonly /gmu)?.length) throw new Error('a field of LogFields has no comment');
  return fields.map(({ groups: { name = '', comment = '' } = {} }) => [
    `\`${name}\``,
    comment.replaceAll(/\s+(?:\* )?/gu, ' ').trim(),
  ]);
}

interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly help: string;
}

/** Watches for registries that get a metric. The function that it returns makes the tables of their metrics. */
export function watchMetrics(): () => readonly MadePart[] {
  const watched = mock.method(Registry.prototype, 'registerMetric');
  return () => {
    const registries = new Set(watched.mock.calls.map(({ this: registry }) => registry as Registry));
    watched.mock.restore();
    const metrics = [...registries]
      .flatMap((registry) => registry.getMetricsAsArray() as readonly unknown[] as RegisteredMetric[])
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    const tableOf = (own: boolean): string => {
      const rows = metrics.filter(({ name }) => name.startsWith('gateway_') === own);
      const cells = rows.map(({ name, type, labelNames, help }) => [`\`${name}\``, type, labelNames.join(', '), help]);
      return table(['name', 'type', 'labels', 'meaning'], cells);
    };
    return [
      ['metrics of the gateway', tableOf(true)],
      ['metrics of the process', tableOf(false)],
    ];
  };
}
