import type { Duration, Expression, Retry, TryTask } from '#workflows/workflow.ts';
import { durationExpressions, enclose, mentions, oncePer, ProgramBuilder, type Slot, valueIn } from '../programs.ts';
import { isTrue, type JsonValue, nullValue } from '../state/json-value.ts';
import { isoOf, momentAfter } from '../time-limit.ts';
import type { Turn } from '../turn.ts';

export interface Verdict {
  readonly caught: boolean;
  readonly retry: boolean;
  /** Of the delay, and of both ends of the jitter. */
  readonly durations: readonly (JsonValue | undefined)[];
}

/** All expressions about an error, which is their `.`. One that an earlier answer makes needless gives null. Durations see the input of `try`. */
export const catchProgram = oncePer((task: TryTask) => {
  const builder = new ProgramBuilder();
  const { retry, when, exceptWhen } = task.catch;
  const caught = condition([when, exceptWhen]);
  const retried = condition([retry?.when, retry?.exceptWhen]);
  const names = [when, exceptWhen, retry?.when, retry?.exceptWhen].flatMap((one) => (one === undefined ? [] : mentions(one.jq)));
  const both = [caught, retried].filter((jq) => jq !== undefined).join(' and ');
  const guard = (jq: string): string => (both === '' ? jq : `if ${both} then ${jq} else null end`);
  return {
    caught: caught === undefined ? undefined : builder.addText('catch.when', caught, names),
    retry: retried === undefined ? undefined : builder.addText('catch.retry.when', both, names),
    durations: durationsOf(retry).map((duration) => {
      const [found] = durationExpressions('catch.retry', duration);
      if (found === undefined) return undefined;
      const { jq } = found.expression;
      return builder.addText(found.label, guard(`$input | ${enclose(jq)}`), ['input', ...mentions(jq)]);
    }),
    program: builder.program,
  };
});

function condition([when, exceptWhen]: readonly (Expression | undefined)[]): string | undefined {
  const parts = [
    ...(when === undefined ? [] : [enclose(when.jq)]),
    ...(exceptWhen === undefined ? [] : [`(${enclose(exceptWhen.jq)} | not)`]),
  ];
  return parts.length === 0 ? undefined : `(true and ${parts.join(' and ')})`;
}

function durationsOf(retry: Retry | undefined): readonly (Duration | undefined)[] {
  return [retry?.delay, retry?.jitter?.from, retry?.jitter?.to];
}

/** `results` of the program; none where it has no expressions. */
export function verdictOf(task: TryTask, results: readonly JsonValue[]): Verdict {
  const { caught, retry, durations } = catchProgram(task);
  const truth = (slot: Slot | undefined): boolean => slot === undefined || isTrue(valueIn(slot, results, nullValue));
  return {
    caught: truth(caught),
    retry: truth(retry),
    durations: durations.map((slot) => slot && valueIn(slot, results, nullValue)),
  };
}

/** Milliseconds until the next attempt. Undefined where a duration is none. */
export function retryDelay(run: Turn, retry: Retry, attempt: number, { durations }: Verdict): number | undefined {
  const [delay, from, to] = durationsOf(retry).map((duration, index) => {
    if (duration === undefined) return 0;
    const at = momentAfter(run.now, isoOf(duration, durations[index]));
    return at === undefined ? undefined : at - run.now;
  });
  if (delay === undefined || from === undefined || to === undefined) return undefined;
  const jitter = retry.jitter === undefined ? 0 : from + run.random() * Math.max(0, to - from);
  const factor = { constant: 1, linear: attempt, exponential: 2 ** (attempt - 1) }[retry.backoff];
  return Math.min(maxDelay, Math.round(delay * factor + jitter));
}

/** Milliseconds: a hundred years, which an exponential backoff cannot pass. */
const maxDelay = 100 * 365 * 86_400_000;
