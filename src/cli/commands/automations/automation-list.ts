import type { Automation } from '#client/gateway.ts';
import { limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { allAutomations } from '../../lookups/all-automations.ts';
import { shortTime } from '../../texts/facts.ts';

export const automationList = listCommand<Automation>({
  name: 'automations list',
  summary: 'list the automations',
  description: ['List the automations that you may see, by name.'],
  options: {
    contains: { value: 'TEXT', default: '', meaning: 'only automations whose name has this text' },
    workflow: { value: 'ID', default: '', meaning: 'only automations of this workflow, such as lab.sync' },
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

export function scheduleText({ repeatInterval, data }: Automation): string | undefined {
  const { cron, timeZone } = data ?? {};
  if (cron === undefined) return repeatInterval && `every ${repeatInterval}`;
  return `${cron}${timeZone === undefined ? '' : ` (${timeZone})`}`;
}
