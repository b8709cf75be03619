/** Whether `Accept` (RFC 9110 12.5.1) weighs `application/json` more than `application/yaml`. Malformed parts are ignored. */
export function prefersJson(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map(readRange);
  return weightOf(ranges, 'application/json') > weightOf(ranges, 'application/yaml');
}

interface MediaRange {
  readonly type: string;
  readonly weight: number;
}

function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { type, weight: weight !== undefined && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/u.test(weight) ? Number(weight) : 1 };
}

/** The most specific range decides. */
function weightOf(ranges: readonly MediaRange[], type: string): number {
  const found = [type, 'application/*', '*/*'].map((each) => ranges.find((range) => range.type === each));
  return found.find((range) => range !== undefined)?.weight ?? 0;
}
