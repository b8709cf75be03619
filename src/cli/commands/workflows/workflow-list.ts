import type { ListedWorkflow, ListWorkflowsData } from '#client/gateway.ts';
import { givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { shortTime } from '../../texts/facts.ts';

export const workflowList = listCommand<ListedWorkflow>({
  name: 'workflows list',
  summary: 'list the workflows, each with its newest version',
  description: ['List the workflows by id, each with its newest version.'],
  options: {
    storer: { value: 'PRINCIPAL', default: '', meaning: 'only versions whose calls count by the rights of this principal' },
    limit: { ...limitOption, default: 'all', meaning: 'only the first N, or "all"' },
  },
  what: 'workflows',
  columns: [
    { title: 'WORKFLOW', cell: ({ id }) => id },
    { title: 'VERSION', cell: ({ version }) => version },
    { title: 'VERSIONS', cell: ({ versions }) => String(versions.length), dropped: 4 },
    { title: 'STORED', cell: ({ createdAt }) => shortTime(createdAt), dropped: 3 },
    { title: 'BY', cell: ({ createdBy }) => createdBy, dropped: 2 },
    { title: 'TITLE', cell: ({ title }) => title, dropped: 1 },
  ],
  rows: ({ gateway, given }) =>
    gateway.each.listWorkflows({
      query: { ...givenOptions<NonNullable<ListWorkflowsData['query']>>(given, ['storer']), limit: pageSize(given) },
    }),
});
