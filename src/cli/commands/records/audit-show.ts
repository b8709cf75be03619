import { visibleLines } from '#base/text/visible.ts';
import { type AuditBody, type AuditRecord, type Gateway, GatewayError } from '#client/gateway.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { CommandFailed, exact } from '../../gateway-session.ts';
import { quoted } from '../../lookups/ambiguous.ts';
import { type Fact, factLines } from '../../texts/facts.ts';

export const auditShow = answeringCommand({
  name: 'audit show',
  summary: 'print a record of the audit log, and what its change sent',
  description: [
    'Print a record, and the body that its change sent, where the log keeps it. ID is that of "audit list",',
    'or the commit label og-ID at the orchestrator.',
  ],
  operands: ['ID'],
  async answer({ gateway, given, wordsFor }) {
    const id = given.operand('ID').replace(/^og-/u, '');
    const [record] = exact(await gateway.listAudit({ query: { id, limit: 1 } })).list;
    if (record === undefined) throw new CommandFailed(`there is no record ${quoted(id)}`);
    const sent = record.bodySha256 === undefined ? undefined : await bodyOf(gateway, record.id);
    if (!(sent instanceof GatewayError)) return { value: { ...record, sent }, lines: linesOf(record, sent) };
    return { value: record, lines: linesOf(record, undefined), hint: `its body: ${wordsFor(sent)}` };
  },
});

/** The error where it is not kept, or may not be seen. */
async function bodyOf(gateway: Gateway, id: string): Promise<AuditBody | GatewayError> {
  try {
    return (await gateway.readAuditBody({ path: { id: id.replace('/', '_') } })).value;
  } catch (error) {
    if (error instanceof GatewayError && (error.status === 403 || error.status === 404)) return error;
    throw error;
  }
}

function linesOf(record: AuditRecord, sent: AuditBody | undefined): readonly string[] {
  const facts = Object.entries(record).map(
    ([name, value]): Fact => [name, typeof value === 'string' ? value : JSON.stringify(value)],
  );
  if (sent === undefined) return factLines(facts);
  const end = sent.truncated === true ? ['(the log has no more of it)'] : [];
  return [...factLines(facts), '', ...visibleLines(sent.body), ...end];
}
