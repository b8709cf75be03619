import type { LogFields } from './log.ts';
import { systemCode } from './system-code.ts';

/** What the log says of an exception that no part expected. The message is left out, because it may quote data. */
export function exceptionFields(thrown: unknown): Pick<LogFields, 'errorName' | 'reason' | 'stack'> {
  const cause = thrown instanceof Error ? thrown : new Error('not an Error');
  const frames = (cause.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '));
  return { errorName: cause.name, reason: systemCode(cause), stack: frames.slice(0, 8).join('\n') };
}
