import { visible } from '#base/visible.ts';
import type { Command } from '../command.ts';
import { gatewayOptions, loginWords, withSession } from '../gateway-session.ts';
import { program } from '../help.ts';
import { print } from '../output.ts';

export const approvalGrant = decisionCommand({
  verb: 'grant',
  operation: 'grantApproval',
  summary: 'let a call leave',
  words: ['Grant an approval. Once all of its rules are satisfied, its caller can make the call, once.'],
});

export const approvalReject = decisionCommand({
  verb: 'reject',
  operation: 'rejectApproval',
  summary: 'refuse a call',
  words: ['Reject an approval, also one that was granted and not used yet. The reason goes to its caller.'],
});

interface Decision {
  readonly verb: 'grant' | 'reject';
  readonly operation: 'grantApproval' | 'rejectApproval';
  readonly summary: string;
  readonly words: readonly string[];
}

function decisionCommand({ verb, operation, summary, words }: Decision): Command {
  const name = `approvals ${verb}`;
  return {
    name,
    summary,
    description: [...words, 'Print the state of the approval. You have to be one of its approvers.', '', ...loginWords],
    options: { ...gatewayOptions, reason: { value: 'TEXT', default: '', meaning: 'why; required, and on record' } },
    operands: ['APPROVAL'],
    run(context, given) {
      const reason = given.option('reason');
      if (reason === '') {
        context.stderr.write(`${program} ${name}: --reason is required: it is on record with the decision\n`);
        return Promise.resolve(2);
      }
      return withSession({ context, given, command: name }, async ({ gateway }) => {
        const { status, rules } = (await gateway[operation]({ path: { id: given.operand('APPROVAL') }, body: { reason } })).value;
        const missing = rules.filter(({ satisfied }) => !satisfied).map((rule) => `${rule.name} ${rule.grants} of ${rule.count}`);
        const rest = status === 'waiting' ? `: ${missing.join(', ')}` : '';
        await print(context.stdout, `${visible(`${status}${rest}`)}\n`);
        return 0;
      });
    },
  };
}
