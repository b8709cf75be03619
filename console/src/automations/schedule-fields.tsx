import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Field, Input, Select } from '../parts/field.tsx';
import { localInput } from '../time-range.ts';
import { useTyped, useTypedList } from '../typed.ts';
import type { Before } from './draft.ts';
import { type ScheduleKind, scheduleKind, type TimesKind, timesOf, units, weekdays } from './schedule.ts';

const kinds = [
  ['none', 'Only when a person runs it', ''],
  ['times', 'At set times', 'Every night, on weekdays, once a month.'],
  ['every', 'Again and again', 'Every 15 minutes, every 2 weeks.'],
  ['once', 'Once', 'At one moment.'],
] as const;

/** When an automation runs, in words. The names of the controls are those that `draftText` reads. */
export function ScheduleFields({ before }: { readonly before: Before }): JSX.Element {
  const begin = useTyped('kind', before === undefined ? 'none' : scheduleKind(before));
  const [kind, setKind] = useState(begin as ScheduleKind);
  return (
    <>
      <fieldset>
        <legend>When does it run?</legend>
        {kinds.map(([value, title, meaning]) => (
          <label key={value} class="choice">
            <input type="radio" name="kind" value={value} checked={value === kind} onChange={() => setKind(value)} />
            <span>
              {title} <span class="soft">{meaning}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {kind === 'times' && <TimesFields before={before} />}
      {kind === 'every' && <EveryFields before={before} />}
      {kind === 'once' && (
        <Moment label="On" name="once" value={before?.nextRunAt} hint="In the time zone of this browser." isNeeded />
      )}
      {(kind === 'times' || kind === 'every') && <Zone before={before} />}
    </>
  );
}

const timesKinds: readonly (readonly [TimesKind, string])[] = [
  ['day', 'every day'],
  ['workdays', 'every weekday'],
  ['week', 'on days of the week'],
  ['month', 'every month'],
  ['hour', 'every hour'],
  ['own', 'by a cron expression'],
];

function TimesFields({ before }: { readonly before: Before }): JSX.Element {
  const cron = before?.data?.cron ?? '0 2 * * *';
  const known = timesOf(cron);
  const begin = useTyped('times', known.kind);
  const time = useTyped('time', known.time);
  const [kind, setKind] = useState(begin as TimesKind);
  return (
    <div class="inline-fields">
      <Select
        label="How often"
        name="times"
        value={kind}
        options={timesKinds}
        onChange={(value) => setKind(value as TimesKind)}
      />
      {kind === 'week' && <Weekdays chosen={known.days} />}
      {kind === 'month' && <Numeral label="Day of the month" name="day" value={known.day} min={1} max={31} />}
      {kind === 'hour' && <Numeral label="Minute" name="minute" value={Number(known.time.slice(3))} min={0} max={59} />}
      {kind === 'own' && (
        <Input
          label="Cron expression"
          name="cron"
          value={cron}
          hint="Minute, hour, day of the month, month, day of the week, such as 30 2 * * 1-5."
        />
      )}
      {kind !== 'hour' && kind !== 'own' && (
        <Field label="At">{(ids) => <input {...ids} type="time" name="time" defaultValue={time} required />}</Field>
      )}
    </div>
  );
}

function Weekdays({ chosen }: { readonly chosen: readonly number[] }): JSX.Element {
  const checked = useTypedList('weekday') ?? chosen.map(String);
  return (
    <fieldset class="weekdays">
      <legend>On</legend>
      {weekdays.map(([number, name]) => (
        <label key={number} class="choice">
          <input
            type="checkbox"
            name="weekday"
            value={number}
            defaultChecked={checked.includes(String(number))}
            aria-label={name}
          />{' '}
          <span aria-hidden="true">{name.slice(0, 3)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function EveryFields({ before }: { readonly before: Before }): JSX.Element {
  const [, count = '1', unit = 'day'] = /^(\d+) ([a-z]+?)s?$/u.exec(before?.repeatInterval ?? '') ?? [];
  const chosenUnit = useTyped('unit', unit);
  const inAnHour = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000).toISOString();
  return (
    <div class="inline-fields">
      <Numeral label="Every" name="count" value={Number(count)} min={1} max={9999} />
      <Select label="Unit" name="unit" value={chosenUnit} options={units.map((one) => [one, `${one}s`] as const)} />
      <Moment
        label="First at"
        name="first"
        value={before?.repeatInterval === undefined ? inAnHour : before.nextRunAt}
        hint="It counts from there. In the time zone of this browser."
      />
    </div>
  );
}

interface NumeralProps {
  readonly label: string;
  readonly name: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

function Numeral({ label, value, ...rest }: NumeralProps): JSX.Element {
  const begin = useTyped(rest.name, String(value));
  return <Field label={label}>{(ids) => <input {...ids} {...rest} type="number" defaultValue={begin} required />}</Field>;
}

interface MomentProps {
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
  readonly hint: string;
  readonly isNeeded?: boolean;
}

function Moment({ label, name, value, hint, isNeeded = false }: MomentProps): JSX.Element {
  const begin = useTyped(name, localInput(value));
  return (
    <Field label={label} hint={hint}>
      {(ids) => <input {...ids} type="datetime-local" name={name} defaultValue={begin} required={isNeeded} />}
    </Field>
  );
}

function Zone({ before }: { readonly before: Before }): JSX.Element {
  const isScheduled = before !== undefined && scheduleKind(before) !== 'none';
  const byDefault = isScheduled ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
  const begin = useTyped('timeZone', before?.data?.timeZone ?? byDefault);
  return (
    <>
      <Field label="Time zone" hint="Such as Europe/Berlin. Days and times of day are those of this zone.">
        {(ids) => <input {...ids} name="timeZone" list="zones" defaultValue={begin} />}
      </Field>
      <datalist id="zones">
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  );
}
