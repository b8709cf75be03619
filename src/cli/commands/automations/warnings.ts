import { visible } from '#base/text/visible.ts';
import type { StoredAutomation } from '#client/gateway.ts';

/** Why the schedule of an automation can begin no run; undefined where it can. */
export function warningLines({ warnings = [] }: Pick<StoredAutomation, 'warnings'>): string | undefined {
  const lines = warnings.map(({ pointer, detail }) => visible(`warning: ${pointer === '' ? '' : `${pointer} `}${detail}`));
  return lines.length === 0 ? undefined : lines.join('\n');
}
