import type { Duration, Expression, Retry, TryTask } from '#workflows/workflow.ts';
import { isoOf, momentAfter } from './durations.ts';
import { isTrue, type JsonValue, nullValue } from './json-value.ts';
import { enclosed, mentions, oncePer, type Program, ProgramBuilder, type Slot, valueIn } from './programs.ts';
import { durationExpressions } from './task-programs.ts';
import type { Turn } from './turn.ts';

interface CatchProgram {
  readonly program: Program;
  /** Absent where there is no condition. */
  readonly caught: Slot | undefined;
  readonly retry: Slot | undefined;
  readonly durations: readonly (Slot | undefined)[];
}

/** What the conditions of a `catch` say about an error. */
export interface Verdict {
  readonly caught: boolean;
  readonly retry: boolean;
  /** Of the delay, and of both ends of the jitter. */
  readonly durations: readonly (JsonValue | undefined)[];
}

/** All expressions about an error, which is their `.`. Those that an earlier answer makes needless give null. Durations see the input of `try`. */
export const catchProgram = oncePer((task: TryTask): CatchProgram => {
  const builder = new ProgramBuilder();
  const { retry, when, exceptWhen } = task.catch;
  const caught = condition([when, exceptWhen]);
  const retried = condition([retry?.when, retry?.exceptWhen]);
  const names = [when, exceptWhen, retry?.when, retry?.exceptWhen].flatMap((one) => (one === undefined ? [] : mentions(one.jq)));
  const both = [caught, retried].filter((jq) => jq !== undefined).join(' and ');
  const onInput = (jq: string): string => `$input | ${enclosed(jq)}`;
  const guard = (jq: string): string => (both === '' ? jq : `if ${both} then ${jq} else null end`);
  return {
    caught: caught === undefined ? undefined : builder.addText('catch.when', caught, names),
    retry: retried === undefined ? undefined : builder.addText('catch.retry.when', both, names),
    durations: durationsOf(retry).map((duration) => {
      const [found] = durationExpressions('catch.retry', duration);
      if (found === undefined) return undefined;
      const { jq } = found.expression;
      return builder.addText(found.label, guard(onInput(jq)), ['input', ...mentions(jq)]);
    }),
    program: builder.program,
  };
});

/** `when` and not `exceptWhen`, as jq that gives true or false. */
function condition([when, exceptWhen]: readonly (Expression | undefined)[]): string | undefined {
  const parts = [
    ...(when === undefined ? [] : [enclosed(when.jq)]),
    ...(exceptWhen === undefined ? [] : [`(${enclosed(exceptWhen.jq)} | not)`]),
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
    durations: durations.map((slot) => (slot === undefined ? undefined : valueIn(slot, results, nullValue))),
  };
}

/** Milliseconds until the attempt after `attempt`. Undefined where a duration is none. */
export function retryDelay(run: Turn, retry: Retry, attempt: number, { durations }: Verdict): number | undefined {
  const [delay, from, to] = durationsOf(retry).map((duration, index) => {
    if (duration === undefined) return 0;
    const iso = isoOf(duration, durations[index]);
    const at = iso === undefined ? undefined : momentAfter(run.now, iso);
    return at === undefined ? undefined : at - run.now;
  });
  if (delay === undefined || from === undefined || to === undefined) return undefined;
  const jitter = retry.jitter === undefined ? 0 : from + run.random() * Math.max(0, to - from);
  return Math.min(longest, Math.round(delay * factor(retry.backoff, attempt) + jitter));
}

/** A delay that an exponential backoff cannot pass: a hundred years. */
const longest = 100 * 365 * 86_400_000;

function factor(backoff: Retry['backoff'], attempt: number): number {
  if (backoff === 'constant') return 1;
  return backoff === 'linear' ? attempt : 2 ** (attempt - 1);
}
