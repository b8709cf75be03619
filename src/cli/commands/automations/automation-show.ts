import type { Automation } from '#client/gateway.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';
import { type Fact, factLines } from '../../texts/facts.ts';
import { scheduleText } from './automation-list.ts';

export const automationShow = answeringCommand({
  name: 'automations show',
  summary: 'print an automation',
  description: ['Print an automation: what it runs, when, and who answers for it.'],
  operands: ['NAME'],
  async answer({ context, gateway, given }) {
    const { _id } = await findAutomation(gateway, given.operand('NAME'));
    const automation = exact(await gateway.readAutomation({ path: { id: _id } }));
    return { value: automation, lines: factLines(factsOf(automation), context.outputColumns) };
  },
});

function factsOf(automation: Automation): readonly Fact[] {
  const { _id, name, data = {}, nextRunAt, lastRunAt } = automation;
  return [
    ['automation', name],
    ['_id', _id],
    ['description', data.description],
    ['workflow', workflowText(data)],
    ['form', data.formId],
    ['input', data.input && JSON.stringify(data.input)],
    ['schedule', scheduleText(automation)],
    ['next', nextRunAt],
    ['last', lastRunAt],
    ...writtenFacts(automation, data),
  ];
}

function workflowText({ workflowId, workflowVersion = '(newest release)' }: NonNullable<Automation['data']>): string | undefined {
  return workflowId && `${workflowId} ${workflowVersion}`;
}

function writtenFacts({ lastModifiedBy, lastSkip }: Automation, data: NonNullable<Automation['data']>): readonly Fact[] {
  const { gbac = {} } = data;
  return [
    ['skipped', lastSkip && `${lastSkip.due}: ${lastSkip.reason}`],
    ['author', data.owner],
    ['scheduler', data.scheduledBy],
    ['changed', [data.lastUpdated, lastModifiedBy && `by ${lastModifiedBy}`].filter(Boolean).join(' ')],
    ['read', gbac.read?.join(', ')],
    ['write', gbac.write?.join(', ')],
  ];
}
