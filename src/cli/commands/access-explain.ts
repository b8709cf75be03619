import { resolve } from 'node:path';
import { loadConfig } from '#config/load-config.ts';
import { locateKeys } from '#config/locate-keys.ts';
import { readRegularFile } from '#config/regular-file.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import type { Command, CommandContext, ExplainQuestion, GivenArguments } from '../command.ts';
import { configFileOption } from '../config-file-option.ts';
import { program } from '../help.ts';
import { loadOrReport } from '../load-or-report.ts';
import { print } from '../output.ts';

export const accessExplain: Command = {
  name: 'explain',
  summary: 'say whether a configuration allows an operation, and by which line',
  description: [
    'Ask the decision that every operation takes, under a configuration. Print whether it is allowed, why,',
    'and the lines of the configuration that decide. Nothing is sent, and no store is opened: a workflow',
    'that a document runs is not known. What is not given is not judged. Exit code 0 means allowed,',
    '1 means denied.',
  ],
  options: {
    config: configFileOption,
    principal: { value: 'NAME', default: '', meaning: 'the user or client that asks' },
    roles: { value: 'NAMES', default: '', meaning: 'in place of a principal: its roles, with commas between them' },
    route: { value: 'ROUTE', default: '', meaning: 'the operationId of a route, such as restQuery' },
    adapter: { value: 'NAME', default: '', meaning: 'the adapter instance' },
    method: { value: 'METHOD', default: '', meaning: 'the method at the far side, such as PATCH' },
    path: { value: 'PATH', default: '', meaning: 'the path at the orchestrator; for restCall the URI' },
    workflow: { value: 'FILE', default: '', meaning: 'for createWorkflow: the document to store' },
    via: { value: 'ENTRANCE', default: '', meaning: 'how it comes: http, run or mcp' },
  },
  operands: [],
  async run(context, given) {
    const file = given.option('config');
    const loaded = await loadOrReport({ context, file, command: 'explain', load: loadConfig });
    if (loaded === undefined) return 1;
    const read = await workflowIn(context, given.option('workflow'));
    if (read === 'unreadable') return 2;
    const workflow = read?.text;
    const answer = await context.explain(loaded.config, { ...questionOf(given), workflow });
    if ('problems' in answer) {
      for (const { pointer, detail } of answer.problems)
        context.stderr.write(`${program} explain: --${pointer.split('/')[1]} ${detail}\n`);
      return 2;
    }
    const { allowed, rule, reason, approvals, keys } = answer;
    const needed = approvals.length === 0 ? [] : [`approvals: ${approvals.join(', ')}`];
    const lines = [`${allowed ? 'allowed' : 'denied'}: ${rule}`, reason, ...needed, ...(await linesOf(context, file, keys))];
    await print(context.stdout, `${lines.join('\n')}\n`);
    return allowed ? 0 : 1;
  },
};

function questionOf({ option }: GivenArguments): ExplainQuestion {
  const given = (name: string): string | undefined => (option(name) === '' ? undefined : option(name));
  return {
    principal: given('principal'),
    roles: given('roles')?.split(','),
    route: option('route'),
    adapter: given('adapter'),
    method: given('method'),
    path: given('path'),
    via: given('via'),
  };
}

/** The text of the file; undefined where none is named. */
async function workflowIn(
  { cwd, stderr }: CommandContext,
  file: string,
): Promise<{ readonly text: string } | 'unreadable' | undefined> {
  if (file === '') return undefined;
  const read = await readRegularFile(resolve(cwd, file), workflowSizeLimit);
  if ('text' in read) return read;
  stderr.write(`${file}:1:1: the file ${read.fault}\n`);
  return 'unreadable';
}

/** `FILE:LINE:COLUMN: KEY` for each key. */
async function linesOf({ env, cwd }: CommandContext, file: string, keys: readonly string[]): Promise<readonly string[]> {
  const located = await locateKeys({ file, env, cwd }, keys);
  return located.map(({ key, line, column }) =>
    line === undefined ? `${file}: ${key} (default)` : `${file}:${line}:${column}: ${key}`,
  );
}
