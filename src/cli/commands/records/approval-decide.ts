import { visible } from '#base/text/visible.ts';
import type { Command } from '../../command.ts';
import { answeringCommand } from '../../gateway-command.ts';

export const approvalGrant = decidingCommand('approvals grant', 'grantApproval', {
  summary: 'let a call leave',
  what: 'Grant an approval. Once all of its rules are satisfied, its caller can make the call, once.',
});

export const approvalReject = decidingCommand('approvals reject', 'rejectApproval', {
  summary: 'refuse a call',
  what: 'Reject an approval, also one that was granted and not used yet. The reason goes to its caller.',
});

function decidingCommand(
  name: string,
  operation: 'grantApproval' | 'rejectApproval',
  { summary, what }: { readonly summary: string; readonly what: string },
): Command {
  return answeringCommand({
    name,
    summary,
    description: [what, 'Print the state of the approval. You have to be one of its approvers.'],
    options: { reason: { value: 'TEXT', default: '', meaning: 'why; on record', isRequired: true } },
    operands: ['APPROVAL'],
    async answer({ gateway, given }) {
      const path = { id: given.operand('APPROVAL') };
      const { value } = await gateway[operation]({ path, body: { reason: given.option('reason') } });
      const missing = value.rules
        .filter(({ satisfied }) => !satisfied)
        .map((rule) => `${rule.name} ${rule.grants} of ${rule.count}`);
      const rest = value.status === 'waiting' ? `: ${missing.join(', ')}` : '';
      return { value, lines: [visible(`${value.status}${rest}`)] };
    },
  });
}
