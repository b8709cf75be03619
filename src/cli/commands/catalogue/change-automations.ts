import { visible } from '#base/text/visible.ts';
import type { Gateway, StoredAutomation } from '#client/gateway.ts';
import { locate } from '#yaml/located.ts';
import { parseYaml } from '#yaml/yaml-text.ts';
import type { Command } from '../../command.ts';
import { answeringCommand, takingCommand } from '../../gateway-command.ts';
import { CommandFailed, exact } from '../../gateway-session.ts';
import { readRunInput } from '../../input-files.ts';
import { findAutomation, quoted } from '../../name-lookup.ts';

export const automationCreate = answeringCommand({
  name: 'automations create',
  summary: 'create an automation',
  description: [
    'Create an automation from a file of YAML or JSON ("-" is standard input) with its fields, such as',
    '{ name: Sync, data: { workflowId: lab.sync } }. Print its name and _id.',
  ],
  operands: ['FILE'],
  async answer({ context, gateway, given }) {
    const rawBody = (await readRunInput(context, given.operand('FILE'), 'automation')) ?? '{}';
    const automation = exact(await gateway.createAutomation({ rawBody }));
    const { name, _id } = automation;
    return { value: automation, lines: [visible(`${name}  ${_id}`)], hint: warningLines(automation) };
  },
});

export const automationPause = pausingCommand('pause', null, 'Pause the schedule of an automation. A run under way goes on.');
export const automationResume = pausingCommand('resume', 'next', 'Let the schedule of an automation go on with its next time.');

function pausingCommand(verb: 'pause' | 'resume', nextRunAt: 'next' | null, what: string): Command {
  return answeringCommand({
    name: `automations ${verb}`,
    summary: `${verb} the schedule of an automation`,
    description: [what, 'Who may run the automation may do it.'],
    operands: ['NAME'],
    async answer({ gateway, given }) {
      const { _id } = await findAutomation(gateway, given.operand('NAME'));
      const automation = exact(await gateway.patchAutomation({ path: { id: _id }, rawBody: JSON.stringify({ nextRunAt }) }));
      const next = automation.nextRunAt === undefined ? 'paused' : `next ${automation.nextRunAt}`;
      return { value: automation, lines: [visible(`${automation.name}: ${next}`)], hint: warningLines(automation) };
    },
  });
}

interface Taken {
  readonly _id: string;
  readonly name: string;
}

export const automationTake = takingCommand({
  name: 'automations take',
  summary: 'take over automations that a person left behind',
  description: [
    'Take over an automation, which its name or its _id names: you become the author of all that it says,',
    'and its scheduler. With --from instead, take over every automation of which a principal is an author',
    'or the scheduler. You need the right to write their workflows.',
  ],
  options: { from: { value: 'PRINCIPAL', meaning: 'every automation of this principal: its id or its name' } },
  operands: ['[NAME…]'],
  async takings({ gateway, given }) {
    const from = given.option('from');
    const names = given.operands('[NAME…]');
    if ((from === '') === (names.length === 0)) throw new CommandFailed('give either the names of automations or --from', 2);
    const wanted =
      from === '' ? await Promise.all(names.map((name) => findAutomation(gateway, name))) : await behind(gateway, from);
    return wanted.map(({ _id, name }) => ({
      name,
      take: async () => [(await gateway.takeAutomation({ path: { id: _id } })).value.name],
    }));
  },
});

async function behind(gateway: Gateway, principal: string): Promise<readonly Taken[]> {
  const found = new Map<string, Taken>();
  for (const kind of ['author', 'scheduler'] as const) {
    for await (const { _id, name } of gateway.each.listAutomations({ query: { [kind]: principal, limit: 1000 } }))
      found.set(_id, { _id, name });
  }
  return [...found.values()];
}

export const automationDelete = answeringCommand({
  name: 'automations delete',
  summary: 'delete an automation',
  description: ['Delete an automation, which its name or its _id names. Its runs stay.'],
  operands: ['NAME'],
  async answer({ gateway, given }) {
    const { _id, name } = await findAutomation(gateway, given.operand('NAME'));
    await gateway.deleteAutomation({ path: { id: _id } });
    return { value: { _id, name }, lines: [visible(`deleted ${name}`)] };
  },
});

export const automationSet = answeringCommand({
  name: 'automations set',
  summary: 'change fields of an automation',
  description: [
    'Change fields of an automation. KEY is name, repeatInterval or nextRunAt, or a field of data such as',
    'workflowVersion, cron, timeZone, input.device or gbac.read; an empty VALUE removes the field. Values',
    'below input and gbac are YAML or JSON, others are texts. A change by another person meanwhile is kept,',
    'and the command fails.',
  ],
  operands: ['NAME', 'KEY=VALUE…'],
  async answer({ gateway, given }) {
    const rawBody = patchOf(given.operands('KEY=VALUE…'));
    const { _id } = await findAutomation(gateway, given.operand('NAME'));
    const path = { id: _id };
    const etag = (await gateway.readAutomation({ path })).headers.get('etag');
    const headers = etag === null ? {} : { 'If-Match': etag };
    const automation = exact(await gateway.patchAutomation({ path, rawBody, headers }));
    return { value: automation, lines: [visible(`changed ${automation.name}`)], hint: warningLines(automation) };
  },
});

const ofAutomation: ReadonlySet<string> = new Set(['name', 'repeatInterval', 'nextRunAt', 'lastRunAt', 'data']);
const structured: ReadonlySet<string> = new Set(['input', 'gbac']);

/** A tree of members, with JSON texts as its leaves. */
interface Members extends Map<string, Members | string> {}

/** The merge patch as JSON text. Throws a CommandFailed with each fault. */
function patchOf(given: readonly string[]): string {
  const root: Members = new Map();
  const faults = given.flatMap((text) => {
    const [, key = '', value = ''] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
    const names = key.split('.');
    if (names.includes('')) return `${quoted(text)} is no KEY=VALUE, such as cron="30 6 * * 1-5"`;
    const path = ofAutomation.has(names[0] ?? '') ? names : ['data', ...names];
    const json = jsonOf(value, structured.has(path[1] ?? ''));
    if (json === undefined) return `the value of ${quoted(key)} is no YAML or JSON`;
    return setMember(root, path, json) ? [] : `${quoted(key)} is given twice, or is a part of another key`;
  });
  if (faults.length > 0) throw new CommandFailed(faults.join('\n'), 2);
  return written(root);
}

/** Undefined: it cannot be read. */
function jsonOf(value: string, isStructured: boolean): string | undefined {
  if (value === '') return 'null';
  if (!isStructured) return JSON.stringify(value);
  const yaml = parseYaml(value);
  const { root, faults } = locate(yaml);
  return yaml.faults.length + faults.length > 0 ? undefined : root.json;
}

function setMember(members: Members, [name = '', ...inner]: readonly string[], json: string): boolean {
  const present = members.get(name);
  if (inner.length === 0) {
    members.set(name, json);
    return present === undefined;
  }
  if (typeof present === 'string') return false;
  const child: Members = present ?? new Map();
  members.set(name, child);
  return setMember(child, inner, json);
}

function written(members: Members): string {
  const entries = [...members].map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === 'string' ? value : written(value)}`,
  );
  return `{${entries.join(',')}}`;
}

/** Why the schedule of an automation can begin no run; undefined where it can. */
function warningLines({ warnings = [] }: Pick<StoredAutomation, 'warnings'>): string | undefined {
  const lines = warnings.map(({ pointer, detail }) => visible(`warning: ${pointer === '' ? '' : `${pointer} `}${detail}`));
  return lines.length === 0 ? undefined : lines.join('\n');
}
