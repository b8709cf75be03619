/**
 * Source of a pattern for JavaScript and for jq, in any case of letters. It matches a percent-encoded path segment that a server could read as
 * `.` or `..`, or as a path with such a segment. A server may decode more than once, take `\` for `/`, end at NUL or at a decoded `?`, and drop
 * `;parameters` and blanks.
 */
export const climbingSegment = climbing();

function climbing(): string {
  const byte = (...hex: readonly string[]): string => `%(?:25)*(?:u00)?(?:${hex.join('|')})`;
  const dot = `(?:\\.|${byte('2e')}|%(?:25)*(?:c0|e0%(?:25)*80|f0%(?:25)*80%(?:25)*80)%(?:25)*ae)`;
  const slash = `(?:[/\\\\]|${byte('2f', '5c')}|%(?:25)*c0%(?:25)*af)`;
  const ignored = `(?:[ \\t]|${byte('00', '09', '0a', '0d', '20')})`;
  const end = `(?:$|${slash}|[;?#]|${byte('00', '23', '3b', '3f')})`;
  return `(?:^|${slash})${ignored}*${dot}${ignored}*(?:${dot}${ignored}*)?${end}`;
}

const pattern = new RegExp(climbingSegment, 'iu');

/** Whether a segment of a path that values were put into leads elsewhere. */
export function leavesItsSegment(segment: string): boolean {
  return segment === '' || pattern.test(segment);
}
