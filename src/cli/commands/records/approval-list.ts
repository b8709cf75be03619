import type { Approval, ListApprovalsData } from '#client/gateway.ts';
import { givenOptions, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { shortTime } from '../../texts/facts.ts';

export const approvalList = listCommand<Approval>({
  name: 'approvals list',
  summary: 'list calls that people must approve',
  description: [
    'List approvals, the newest first: those that you asked for or may decide, and all of them with the role',
    'admin. They have every field but the bodies and the previews.',
  ],
  options: {
    status: { value: 'STATUS', default: 'waiting', meaning: 'only approvals with this status, or "all"' },
    run: { value: 'RUN', default: '', meaning: 'only approvals for which this run waits' },
    limit: { ...limitOption, default: 'all' },
  },
  what: 'approvals',
  columns: [
    { title: 'APPROVAL', cell: ({ id }) => id },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'YOURS', cell: ({ mayDecide }) => (mayDecide ? 'to decide' : undefined), dropped: 3 },
    { title: 'ASKED BY', cell: ({ principal }) => principal, dropped: 2 },
    { title: 'EXPIRES', cell: ({ expires }) => shortTime(expires), dropped: 4 },
    { title: 'ADAPTER', cell: ({ call }) => call?.adapter, dropped: 5 },
    { title: 'WHAT', cell: ({ call, message }) => (call === undefined ? message : `${call.method} ${call.path}`) },
  ],
  rows({ gateway, given }) {
    const names = given.option('status') === 'all' ? (['run'] as const) : (['run', 'status'] as const);
    const query = givenOptions<NonNullable<ListApprovalsData['query']>>(given, names);
    return gateway.each.listApprovals({ query: { ...query, limit: pageSize(given) } });
  },
});
