import type { Automation } from '#client/gateway.ts';
import { inputText, memberNames, memberText, timeText } from '../texts.ts';
import { isPaused, scheduleWords } from './schedule.ts';

/** A state of an automation: parsed, and as JSON text with the digits of its numbers. */
export interface AutomationState {
  readonly document: Automation;
  readonly text: string;
}

/** A part that differs between two states: undefined where a state does not have it. */
export interface Difference {
  readonly part: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What people see of a state, by the names of the form. */
export function partsOf({ document, text }: AutomationState): ReadonlyMap<string, string> {
  const { name, data = {} } = document;
  const input = inputText(text);
  const parts: readonly (readonly [string, string | undefined])[] = [
    ['Name', name],
    ['Description', data.description],
    ['Workflow', data.workflowId],
    ['Version', data.workflowId && (data.workflowVersion ?? 'the newest release')],
    ['Form', data.formId],
    ...memberNames(input).map((member) => [`Input ${member}`, memberText(input, member)] as const),
    ...scheduleParts(document),
    ['Groups that read it', data.gbac?.read?.join(', ')],
    ['Groups that change and run it', data.gbac?.write?.join(', ')],
  ];
  return new Map(parts.flatMap(([part, value]) => (value === undefined || value === '' ? [] : [[part, value] as const])));
}

function scheduleParts(document: Automation): readonly (readonly [string, string | undefined])[] {
  const { data, nextRunAt, repeatInterval } = document;
  const words = scheduleWords(document);
  const paused = isPaused(document) ? ' (paused)' : '';
  return [
    ['Schedule', words && `${words}${paused}`],
    ['First at', repeatInterval && data?.scheduleFrom && timeText(data.scheduleFrom)],
    ['Runs at', words === 'once' ? nextRunAt && timeText(nextRunAt) : undefined],
  ];
}

/** The parts that differ, in the order of the form. */
export function differencesOf(before: AutomationState | undefined, after: AutomationState): readonly Difference[] {
  const old = before === undefined ? new Map<string, string>() : partsOf(before);
  const young = partsOf(after);
  return [...new Set([...young.keys(), ...old.keys()])]
    .map((part) => ({ part, before: old.get(part), after: young.get(part) }))
    .filter((one) => one.before !== one.after)
    .map(inWords);
}

/** Values of the input as people typed them, where that shows the difference: not of `7` and `"7"`. */
function inWords({ part, before, after }: Difference): Difference {
  const [old, young] = [before && typedText(part, before), after && typedText(part, after)];
  return old === young ? { part, before, after } : { part, before: old, after: young };
}

function typedText(part: string, text: string): string {
  if (!part.startsWith('Input ')) return text;
  const value: unknown = JSON.parse(text);
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  // A number keeps its digits.
  return typeof value === 'string' ? value : text;
}

/**
 * The request that makes an automation what it was. Its next time is not in the past, so that nothing runs at once.
 * Without a change of the rule it stays as it is now. A rule that comes back counts on from now. `nextTimes`: those of the old state, from its own first one.
 */
export function putBackText(old: AutomationState, current: Automation, nextTimes: readonly string[], now: number): string {
  const { name, data = {}, repeatInterval } = old.document;
  const { lastUpdated: _at, owner: _owner, scheduledBy: _by, scheduleFrom: _from, input: _input, ...rest } = data;
  const input = memberText(memberText(old.text, 'data') ?? '{}', 'input');
  const nextRunAt = isSameRule(old.document, current) ? current.nextRunAt : nextTimes.find((at) => Date.parse(at) > now);
  return withInput({ name, repeatInterval, nextRunAt, lastRunAt: current.lastRunAt, data: rest }, input);
}

/** The JSON text of an automation with that input, a JSON text whose numbers keep their digits. Undefined: it has none. */
export function withInput({ data = {}, ...rest }: Optional<Automation>, input: string | undefined): string {
  const { input: _parsed, ...others } = data;
  const [given, written] = [JSON.stringify(rest), JSON.stringify(others)];
  const separator = written === '{}' ? '' : ',';
  const whole = input === undefined ? written : `${written.slice(0, -1)}${separator}"input":${input}}`;
  return `${given.slice(0, -1)}${given === '{}' ? '' : ','}"data":${whole}}`;
}

type Optional<Document> = { readonly [Name in keyof Document]?: Document[Name] | undefined };

/** Whether two states are due by the same rule. A moment alone is no rule. */
export function isSameRule(one: Automation, other: Automation): boolean {
  const ruleOf = ({ data, repeatInterval }: Automation): string =>
    JSON.stringify([data?.cron, data?.timeZone, repeatInterval, repeatInterval && data?.scheduleFrom]);
  const isOnce = one.data?.cron === undefined && one.repeatInterval === undefined;
  return ruleOf(one) === ruleOf(other) && !isOnce;
}
