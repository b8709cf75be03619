import type { ListedForm } from '#client/gateway.ts';
import { limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { shortTime } from '../../texts/facts.ts';

export const formList = listCommand<ListedForm>({
  name: 'forms list',
  summary: 'list the forms',
  description: ['List the forms by id.'],
  options: { limit: { ...limitOption, default: 'all', meaning: 'only the first N, or "all"' } },
  what: 'forms',
  columns: [
    { title: 'FORM', cell: ({ id }) => id },
    { title: 'CHANGED', cell: ({ lastUpdated }) => shortTime(lastUpdated), dropped: 3 },
    { title: 'BY', cell: ({ lastModifiedBy }) => lastModifiedBy, dropped: 2 },
    { title: 'TITLE', cell: ({ title }) => title, dropped: 1 },
  ],
  rows: ({ gateway, given }) => gateway.each.listForms({ query: { limit: pageSize(given) } }),
});
