import { visibleLines } from '#base/text/visible.ts';
import type { ListedForm } from '#client/gateway.ts';
import { answeringCommand, gatewayCommand, limitOption, listCommand, pageSize } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { readFile } from '../../input-files.ts';
import { print } from '../../output.ts';
import { shortTime } from '../../texts/text-table.ts';

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

export const formShow = gatewayCommand({
  name: 'forms show',
  summary: 'print a form',
  description: ['Print a form as it was stored, byte for byte where standard output is no terminal.'],
  flags: { json: 'the same: a form is JSON' },
  operands: ['ID'],
  async work({ context: { stdout, printsToTerminal }, gateway, given }) {
    const { text } = await gateway.readForm({ path: { id: given.operand('ID') } });
    await print(stdout, printsToTerminal ? `${visibleLines(text).join('\n')}\n` : text);
    return 0;
  },
});

/** Bytes, as in the gateway. */
const formLimit = 65_536;

export const formPut = answeringCommand({
  name: 'forms store',
  summary: 'store a form',
  description: ['Store a form, a JSON Schema in a file, under an id. It replaces the form with that id.'],
  operands: ['ID', 'FILE'],
  async answer({ context, gateway, given }) {
    const id = given.operand('ID');
    const rawBody = await readFile(context, given.operand('FILE'), formLimit);
    const reply = await gateway.putForm({ path: { id }, rawBody });
    return { value: exact(reply), lines: [`${reply.status === 201 ? 'created' : 'replaced'} ${id}`] };
  },
});

export const formDelete = answeringCommand({
  name: 'forms delete',
  summary: 'delete a form',
  description: ['Delete a form that no automation names.'],
  operands: ['ID'],
  async answer({ gateway, given }) {
    const id = given.operand('ID');
    await gateway.deleteForm({ path: { id } });
    return { value: { id }, lines: [`deleted ${id}`] };
  },
});
