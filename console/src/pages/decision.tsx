import type { JSX } from 'preact';
import { change } from '../change.ts';
import { useSending } from '../parts/action.tsx';
import { Area, Input, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';

interface DecisionProps {
  readonly run: string;
  /** Id of the task. */
  readonly task: string;
  readonly decided: () => void;
}

const choices = [
  ['done', 'It happened', 'The run goes on with the output below.'],
  ['failed', 'It did not happen', 'The task fails, and the workflow handles that.'],
  ['again', 'Do it again', 'The call is made again.'],
] as const;

/** What people found out about a call whose outcome is unknown. */
export function Decision({ run, task, decided }: DecisionProps): JSX.Element {
  const { isBusy, error, submit } = useSending(async (form) => {
    const as = textOf(form, 'as');
    const output = textOf(form, 'output').trim();
    const given = JSON.stringify({ task, as, reason: textOf(form, 'reason') });
    // The output is sent as it was typed, so that its numbers keep their digits.
    const rawBody = as === 'done' && output !== '' ? `${given.slice(0, -1)},"output":${output}}` : given;
    await change('decideRun', { path: { id: run }, rawBody });
    decided();
  });
  return (
    <form aria-label="Decide about the call" onSubmit={submit}>
      <fieldset>
        <legend>What happened?</legend>
        {choices.map(([value, title, meaning]) => (
          <label key={value} class="choice">
            <input type="radio" name="as" value={value} required />
            <span>
              {title}. <span class="soft">{meaning}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Input label="Reason" name="reason" required hint="It is kept in the audit log." />
      <Area label="Output of the task, as JSON (where it happened)" name="output" rows={3} />
      <button type="submit" class="main" aria-disabled={isBusy}>
        {isBusy ? 'Deciding…' : 'Decide'}
      </button>
      {error !== undefined && <Failure error={error} />}
    </form>
  );
}
