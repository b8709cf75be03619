import type { Approval } from '#client/gateway.ts';
import type { Command } from '../command.ts';
import { gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { print } from '../output.ts';
import { type TextColumn, textTable } from '../text-table.ts';

export const approvalList: Command = {
  name: 'approvals list',
  summary: 'list calls that people must approve',
  description: [
    'List approvals, the newest first: those that you asked for or may decide, and all of them with the role',
    'admin. A table on a terminal, otherwise NDJSON with every field but the bodies and the previews.',
    '',
    ...loginWords,
  ],
  options: {
    ...gatewayOptions,
    status: { value: 'STATUS', default: 'waiting', meaning: 'only approvals with this status, or "all"' },
    run: { value: 'RUN', default: '', meaning: 'only approvals for which this run waits' },
  },
  flags: { ndjson: 'print NDJSON on a terminal too' },
  operands: [],
  run: (context, given) =>
    withSession({ context, given, command: 'approvals list' }, async ({ gateway }) => {
      const { stdout, stderr, printsToTerminal, outputColumns } = context;
      const [status, run] = [given.option('status'), given.option('run')];
      const query = { ...(status !== 'all' && { status: status as Approval['status'] }), ...(run !== '' && { run }) };
      const approvals = gateway.each.listApprovals({ query: { ...query, limit: 1000 } });
      if (!printsToTerminal || given.flag('ndjson')) {
        for await (const approval of approvals) await print(stdout, `${JSON.stringify(approval)}\n`);
        return 0;
      }
      const list = await Array.fromAsync(approvals);
      if (list.length === 0) stderr.write('no approvals\n');
      else await print(stdout, `${textTable(columns, list, outputColumns).join('\n')}\n`);
      return 0;
    }),
};

const columns: readonly TextColumn<Approval>[] = [
  { title: 'APPROVAL', cell: ({ id }) => id },
  { title: 'STATUS', cell: ({ status }) => status },
  { title: 'YOURS', cell: ({ mayDecide }) => (mayDecide ? 'to decide' : undefined), dropped: 3 },
  { title: 'ASKED BY', cell: ({ principal }) => principal, dropped: 2 },
  { title: 'EXPIRES', cell: ({ expires }) => expires.replace(/\.\d+Z$/u, 'Z'), dropped: 4 },
  { title: 'ADAPTER', cell: ({ call }) => call?.adapter, dropped: 5 },
  { title: 'WHAT', cell: ({ call, message }) => (call === undefined ? message : `${call.method} ${call.path}`) },
];
