import { visible } from '#base/text/visible.ts';
import type { Command } from '../../command.ts';
import { answeringCommand } from '../../gateway-command.ts';
import { exact } from '../../gateway-session.ts';
import { findAutomation } from '../../lookups/automation-lookup.ts';
import { warningLines } from './warnings.ts';

export const automationPause = pausingCommand('pause', null, 'Pause the schedule of an automation. A run under way goes on.');
export const automationResume = pausingCommand('resume', 'next', 'Let the schedule of an automation go on with its next time.');

function pausingCommand(verb: 'pause' | 'resume', nextRunAt: 'next' | null, what: string): Command {
  return answeringCommand({
    name: `automations ${verb}`,
    summary: `${verb} the schedule of an automation`,
    description: [what, 'Who may run the automation may do it.'],
    operands: ['NAME'],
    async answer({ gateway, given }) {
      const { _id } = await findAutomation(gateway, given.operand('NAME'));
      const automation = exact(await gateway.patchAutomation({ path: { id: _id }, rawBody: JSON.stringify({ nextRunAt }) }));
      const next = automation.nextRunAt === undefined ? 'paused' : `next ${automation.nextRunAt}`;
      return { value: automation, lines: [visible(`${automation.name}: ${next}`)], hint: warningLines(automation) };
    },
  });
}
