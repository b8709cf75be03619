import type { Duration } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';

/** The moment `iso` after `now`, in milliseconds. Undefined where it is no ISO 8601 duration, is negative, or ends beyond all calendars. */
export function momentAfter(now: number, iso: string): number | undefined {
  try {
    const duration = Temporal.Duration.from(iso);
    if (duration.sign < 0) return undefined;
    return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO('UTC').add(duration).epochMilliseconds;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The ISO 8601 text of a duration, of which `value` is the result where it is an expression. Undefined where that is no text. */
export function isoOf(duration: Duration, value: JsonValue | undefined): string | undefined {
  if ('iso' in duration) return duration.iso;
  const read: unknown = JSON.parse(value?.text ?? 'null');
  return typeof read === 'string' ? read : undefined;
}
