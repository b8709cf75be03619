/** A right form, for messages. */
const timeZoneForm = 'Europe/Berlin';

/** Whether the text is a name of the IANA time zone database, of any case. An offset such as `+02:00` is none: it has no summer time. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z]/u.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

/** What is wrong with a time zone, and a right form: the zone of a city that is meant, or an example. Undefined: it is right. */
export function timeZoneFault(text: string): string | undefined {
  if (isTimeZone(text)) return undefined;
  const city = text
    .slice(text.lastIndexOf('/') + 1)
    .replaceAll(' ', '_')
    .toLowerCase();
  const meant = Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase().endsWith(`/${city}`));
  return `must be a time zone of the IANA database, such as "${meant ?? timeZoneForm}"`;
}
