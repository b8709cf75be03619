import type { Automation } from '#client/gateway.ts';
import { may, principal } from '../session.ts';

const builtIn: ReadonlySet<string> = new Set(['admin', 'engineering', 'other', 'readonly', 'apiread']);

/** Whether the console offers to run, pause and resume an automation. The gateway decides, also about rights of other roles. */
export function mayRun(automation: Automation): boolean {
  const caller = principal.value;
  if (typeof caller === 'string' || !may('runAutomation')) return false;
  const { write = [] } = automation.data?.gbac ?? {};
  if (caller.roles.includes('admin') || isAmong(caller.groups, write)) return true;
  const mayByRole = caller.roles.some((role) => role === 'engineering' || !builtIn.has(role));
  return mayByRole && write.length === 0 && isReader(automation, caller.groups);
}

/** Whether the console offers to change, delete and take an automation. */
export function mayChange({ data }: Automation): boolean {
  const caller = principal.value;
  if (typeof caller === 'string' || !may('replaceAutomation')) return false;
  const { write = [] } = data?.gbac ?? {};
  return caller.roles.includes('admin') || write.length === 0 || isAmong(caller.groups, write);
}

function isReader({ data }: Automation, groups: readonly string[]): boolean {
  const { read = [] } = data?.gbac ?? {};
  return read.length === 0 || isAmong(groups, read);
}

function isAmong(groups: readonly string[], wanted: readonly string[] = []): boolean {
  return groups.some((group) => wanted.includes(group));
}
