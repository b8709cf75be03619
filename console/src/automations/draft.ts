import type { Automation, AutomationData } from '#client/gateway.ts';
import { textOf } from '../parts/field.tsx';
import { inputOf } from '../parts/input-form.tsx';
import type { FlatSchema } from '../schema-form.ts';
import { fromLocalInput, localInput } from '../time-range.ts';
import { cronOf, type ScheduleKind, type Times, type TimesKind, timesOf } from './schedule.ts';
import { withInput } from './states.ts';

/** What the form began with: an automation, or nothing. */
export type Before = Automation | undefined;

interface DraftSource {
  readonly before: Before;
  /** The times as they are now, which a run or a pause moves: a schedule that was left alone keeps them. */
  readonly current: Before;
  /** Its input as JSON text. */
  readonly input: string;
  readonly schema: FlatSchema | undefined;
}

/** The automation that people typed, as the JSON text of a request. A value that they left alone stays as it was, letter by letter. */
export function draftText(form: HTMLFormElement, { before, current, input: kept, schema }: DraftSource): string {
  const { cron, timeZone, ...schedule } = scheduleIn(form, before, current);
  const data: AutomationData = {
    ...some('description', textOf(form, 'description').trim()),
    ...some('workflowId', textOf(form, 'workflow').trim()),
    ...some('workflowVersion', textOf(form, 'version').trim()),
    ...some('formId', textOf(form, 'form')),
    ...some('cron', cron),
    ...some('timeZone', timeZone),
    ...groupsIn(form, before),
  };
  const input = inputOf(form, schema, kept);
  const hasInput = input !== '{}' || before?.data?.input !== undefined;
  const name = textOf(form, 'name').trim();
  return withInput({ name, ...schedule, ...some('lastRunAt', current?.lastRunAt), data }, hasInput ? input : undefined);
}

interface DraftSchedule {
  readonly nextRunAt?: string;
  readonly repeatInterval?: string;
  readonly cron?: string;
  readonly timeZone?: string;
}

function scheduleIn(form: HTMLFormElement, before: Before, current: Before): DraftSchedule {
  const kind = textOf(form, 'kind') as ScheduleKind;
  if (kind === 'times') return timesIn(form, before, current);
  if (kind === 'every') {
    const repeatInterval = intervalIn(form, before?.repeatInterval);
    return { repeatInterval, ...zoneIn(form, before), ...timeIn(form, 'first', [before, current]) };
  }
  return kind === 'once' ? timeIn(form, 'once', [before, current]) : {};
}

function timesIn(form: HTMLFormElement, before: Before, current: Before): DraftSchedule {
  const { cron: kept, timeZone: keptZone } = before?.data ?? {};
  const cron = cronIn(form, kept);
  const zone = zoneIn(form, before);
  // The gateway counts from now on where the rule is another one.
  const isSame = cron === kept && zone.timeZone === keptZone;
  return { cron, ...zone, ...(isSame ? some('nextRunAt', current?.nextRunAt) : {}) };
}

/** Of two expressions that say the same the one that was there stays. */
function cronIn(form: HTMLFormElement, kept: string | undefined): string {
  const kind = textOf(form, 'times') as TimesKind;
  if (kind === 'own') return textOf(form, 'cron').trim();
  const time = kind === 'hour' ? `00:${textOf(form, 'minute')}` : textOf(form, 'time');
  const days = new FormData(form).getAll('weekday').map(Number);
  const times: Times = { kind, time, days, day: Number(textOf(form, 'day')) };
  const typed = cronOf(times);
  return kept !== undefined && cronOf(timesOf(kept)) === typed ? kept : typed;
}

function intervalIn(form: HTMLFormElement, kept: string | undefined): string {
  const [count, unit] = [textOf(form, 'count').trim(), textOf(form, 'unit')];
  const typed = `${count} ${unit}${count === '1' ? '' : 's'}`;
  return kept !== undefined && kept.replace(/s$/u, '') === typed.replace(/s$/u, '') ? kept : typed;
}

function zoneIn(form: HTMLFormElement, before: Before): { readonly timeZone?: string } {
  const typed = textOf(form, 'timeZone').trim();
  const kept = before?.data?.timeZone;
  return typed === (kept ?? 'UTC') ? some('timeZone', kept) : some('timeZone', typed);
}

/** An input has no seconds: a time that was left alone keeps its own. */
function timeIn(
  form: HTMLFormElement,
  name: string,
  [before, current]: readonly [Before, Before],
): { readonly nextRunAt?: string } {
  const typed = textOf(form, name);
  return some('nextRunAt', typed === localInput(before?.nextRunAt) ? current?.nextRunAt : fromLocalInput(typed));
}

function groupsIn(form: HTMLFormElement, before: Before): Pick<AutomationData, 'gbac'> {
  const [read, write] = [listIn(form, 'read'), listIn(form, 'write')];
  const kept = before?.data?.gbac;
  if (read.length + write.length === 0 && kept === undefined) return {};
  return { gbac: { ...listed('read', read, kept?.read), ...listed('write', write, kept?.write) } };
}

function listed(name: 'read' | 'write', list: string[], kept: readonly string[] | undefined): Partial<Record<string, string[]>> {
  return list.length === 0 && kept === undefined ? {} : { [name]: list };
}

function listIn(form: HTMLFormElement, name: string): string[] {
  return textOf(form, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function some<Name extends string>(name: Name, value: string | undefined): Partial<Record<Name, string>> {
  return value === undefined || value === '' ? {} : ({ [name]: value } as Partial<Record<Name, string>>);
}
