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
