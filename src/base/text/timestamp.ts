/** `date-time` of RFC 3339 5.6; T and Z may be lower case. */
const dateTime = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/u;

/**
 * Reads an RFC 3339 timestamp with any offset and writes it in UTC with milliseconds and `Z`. Finer fractions are cut; a leap second
 * becomes the second before it. Undefined for other text, for a date that does not exist, and outside the years 0 to 9999 in UTC.
 */
export function readTimestamp(text: string): string | undefined {
  if (text.length > 64 || !dateTime.test(text)) return undefined;
  // Temporal reads at most nine digits of a fraction; three are kept.
  const milliseconds = text.toUpperCase().replace(/(\.\d{3})\d+/u, '$1');
  try {
    const instant = Temporal.Instant.from(milliseconds).toString({ smallestUnit: 'millisecond' });
    return /^\d{4}-/u.test(instant) ? instant : undefined;
  } catch {
    return undefined;
  }
}

/** True for a name of the IANA database, of any case. An offset such as `+02:00` has no summer time. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z]/u.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

/** The first millisecond of a day such as `2026-01-12`, or its last one, by the time zone. Undefined: there is no such day. */
export function edgeOfDay(day: string, edge: 'first' | 'last'): ((timeZone: string) => number) | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/u.test(day)) return undefined;
  try {
    const date = Temporal.PlainDate.from(day, { overflow: 'reject' });
    const start = (of: Temporal.PlainDate, timeZone: string): number => of.toZonedDateTime(timeZone).epochMilliseconds;
    return edge === 'first' ? (timeZone) => start(date, timeZone) : (timeZone) => start(date.add({ days: 1 }), timeZone) - 1;
  } catch {
    return undefined;
  }
}
