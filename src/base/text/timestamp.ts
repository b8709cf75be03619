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
