import type { Automation, Gateway, ListAutomationsData } from '#client/gateway.ts';
import { answeringCommand, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { findAutomation } from '../../name-lookup.ts';
import { type Fact, factLines, shortTime } from '../../texts/text-table.ts';

export const automationList = listCommand<Automation>({
  name: 'automations list',
  summary: 'list the automations',
  description: ['List the automations that you may see, by name.'],
  options: {
    contains: { value: 'TEXT', meaning: 'only automations whose name has this text' },
    workflow: { value: 'ID', meaning: 'only automations of this workflow, such as lab.sync' },
    limit: { ...limitOption, default: 'all', meaning: 'only the first N, or "all"' },
  },
  what: 'automations',
  columns: [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'WORKFLOW', cell: ({ data }) => [data?.workflowId, data?.workflowVersion].filter(Boolean).join(' '), dropped: 2 },
    { title: 'SCHEDULE', cell: (automation) => scheduleText(automation), dropped: 3 },
    { title: 'NEXT', cell: ({ nextRunAt }) => nextRunAt && shortTime(nextRunAt), dropped: 1 },
    { title: '_ID', cell: ({ _id }) => _id, dropped: 4 },
  ],
  rows({ gateway, given }) {
    const [contains, workflow] = [given.option('contains'), given.option('workflow')];
    return allAutomations(gateway, {
      ...(contains !== '' && { contains, containsField: 'name' }),
      ...(workflow !== '' && { equals: workflow, equalsField: 'data.workflowId' }),
      limit: pageSize(given),
    });
  },
});

function scheduleText({ repeatInterval, data }: Automation): string | undefined {
  const { cron, timeZone } = data ?? {};
  if (cron === undefined) return repeatInterval && `every ${repeatInterval}`;
  return `${cron}${timeZone === undefined ? '' : ` (${timeZone})`}`;
}

/** Page after page, with the digits of their inputs. */
async function* allAutomations(
  gateway: Gateway,
  query: NonNullable<ListAutomationsData['query']>,
): AsyncGenerator<Automation, void, undefined> {
  for (let skip = 0; ; ) {
    const { list, total } = exact(await gateway.listAutomations({ query: { ...query, skip } }));
    yield* list;
    skip += list.length;
    if (list.length === 0 || skip >= total) return;
  }
}

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
