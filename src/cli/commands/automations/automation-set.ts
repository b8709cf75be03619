import { visible } from '#base/text/visible.ts';
import { locate } from '#yaml/located.ts';
import { parseYaml } from '#yaml/yaml-text.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { CommandFailed, exact } from '../../gateway-session.ts';
import { quoted } from '../../lookups/ambiguous.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';
import { warningLines } from './warnings.ts';

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
