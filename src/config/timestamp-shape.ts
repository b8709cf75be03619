import { readTimestamp } from '#base/timestamp.ts';
import { shown } from '#yaml/wording.ts';
import { memberOf, scalarOf } from './place.ts';
import { type Parsed, text } from './scalar-shapes.ts';
import type { Check, Shape } from './shape.ts';

const example = '2026-12-20T00:00:00+01:00';

/** A moment with its offset (RFC 3339), in milliseconds since the epoch. */
export const timestamp: Shape<number> = text({
  type: 'time',
  example,
  parse: (value): Parsed<number> => {
    const read = readTimestamp(value);
    if (read === undefined) return { fault: `${shown(value)} is no time of RFC 3339; write e.g. ${example}` };
    return { value: Date.parse(read) };
  },
});

/** For a mapping with two times: the first is earlier, and the second has not passed. */
export function isBefore(first: string, second: string): Check {
  return (place) => {
    const end = memberOf(place, second);
    const until = timeIn(scalarOf(end));
    if (end === undefined || until === undefined) return;
    const from = timeIn(scalarOf(memberOf(place, first)));
    if (from !== undefined && from >= until) end.reading.problem(end, `is not after ${first}, so the times match nothing`);
    else if (until <= Date.now()) end.reading.warning(end, 'has passed, so the times match nothing any more');
  };
}

function timeIn(value: unknown): number | undefined {
  const read = typeof value === 'string' ? readTimestamp(value) : undefined;
  return read === undefined ? undefined : Date.parse(read);
}
