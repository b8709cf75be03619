import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PreviewOfTask, RunDecision, RunTask } from '#client/gateway.ts';
import { change } from '../change.ts';
import { Action, useSending } from '../parts/action.tsx';
import { Diff } from '../parts/diff.tsx';
import { Area, Input, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { may } from '../session.ts';
import { seenText } from '../texts.ts';
import { Calls } from './task-calls.tsx';

interface UnknownOutcomeProps {
  readonly run: string;
  readonly task: RunTask;
  readonly decided: () => void;
}

/** A call of which it is unknown whether it happened: what is on record, what the orchestrator says now, and the decision. */
export function UnknownOutcome({ run, task, decided }: UnknownOutcomeProps): JSX.Element {
  const { detail = '' } = task.error ?? {};
  // Before the cause, if it has one, the gateway says what this part of the page says.
  const why = detail.slice(Math.max(0, detail.indexOf('Cause: ')));
  return (
    <div class="decision">
      <p>
        <strong>It is unknown whether this call happened.</strong> Find out at the orchestrator, then decide.
      </p>
      {why !== '' && <p class="note">{seenText(why)}</p>}
      <Calls run={run} task={task} />
      {may('decideRun') ? (
        <>
          <Evidence run={run} task={task.id} />
          <Decision run={run} about={{ task: task.id }} decided={decided} />
        </>
      ) : (
        <p>The role admin decides, or a principal with a right to decide.</p>
      )}
    </div>
  );
}

interface DecisionProps {
  readonly run: string;
  /** A task by its id, or items of a batch. */
  readonly about: Pick<RunDecision, 'expected' | 'items' | 'task'>;
  readonly decided: () => void;
}

/** What people found out about a call whose outcome is unknown. */
export function Decision({ run, about, decided }: DecisionProps): JSX.Element {
  return (
    <DecisionForm
      send={async (found) => {
        await change('decideRun', { path: { id: run }, rawBody: decisionBody(about, found) });
        decided();
      }}
    />
  );
}

/** What a person found out. */
export interface Found {
  readonly as: string;
  readonly reason: string;
  /** JSON text, or empty. */
  readonly output: string;
}

/** The output is sent as it was typed, so that its numbers keep their digits. */
export function decisionBody(about: DecisionProps['about'], { as, reason, output }: Found): string {
  const given = JSON.stringify({ ...about, as, reason });
  return as === 'done' && output !== '' ? `${given.slice(0, -1)},"output":${output}}` : given;
}

const choices = [
  ['done', 'It happened', 'The run goes on with the output below.'],
  ['failed', 'It did not happen', 'The task fails, and the workflow handles that.'],
  ['again', 'Do it again', 'The call is made again.'],
] as const;

interface DecisionFormProps {
  readonly send: (found: Found) => Promise<unknown>;
  readonly words?: string;
}

export function DecisionForm({ send, words = 'Decide' }: DecisionFormProps): JSX.Element {
  const { isBusy, error, submit } = useSending((form) =>
    send({ as: textOf(form, 'as'), reason: textOf(form, 'reason'), output: textOf(form, 'output').trim() }),
  );
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
        {isBusy ? 'Deciding…' : words}
      </button>
      {error !== undefined && <Failure error={error} />}
    </form>
  );
}

/** What the orchestrator says now: what the call would change, and whether it has the commit. */
export function Evidence({ run, task }: { readonly run: string; readonly task: string }): JSX.Element {
  const [preview, setPreview] = useState<PreviewOfTask | undefined>(undefined);
  const ask = async (): Promise<void> =>
    setPreview((await change('previewTask', { path: { id: run, taskId: task }, body: {} })).value);
  return (
    <div class="evidence">
      <div class="buttons">
        <Action act={ask}>Ask the orchestrator</Action>
      </div>
      <div aria-live="polite">{preview !== undefined && <Answer preview={preview} />}</div>
    </div>
  );
}

function Answer({ preview }: { readonly preview: PreviewOfTask }): JSX.Element {
  const { rollback } = preview;
  return (
    <>
      <p class="may">
        <strong>{verdict(preview)}</strong>
      </p>
      {rollback !== undefined && <p>{seenText(rollback.explanation)}</p>}
      {preview.kind === 'none' && <p>There is no preview: {seenText(preview.reason)}</p>}
      {preview.kind !== 'none' && preview.text.trim() === '' && <p>Nothing would change: the orchestrator has it already.</p>}
      {preview.kind !== 'none' && preview.text.trim() !== '' && (
        <>
          <p>The call would change this now:</p>
          <Diff of={preview.text} label="What the call would change now" />
        </>
      )}
    </>
  );
}

/** What the facts say together. A commit with the label of the call proves it; a preview says what the state is, and not why. */
function verdict(preview: PreviewOfTask): string {
  const found = preview.rollback?.found;
  if (found === true) return 'It happened: the orchestrator has the commit of this call.';
  if (preview.kind === 'none') return 'The orchestrator cannot say it. Look at the device.';
  if (preview.text.trim() === '') return 'It probably happened: the orchestrator has the change.';
  return found === false
    ? 'It most likely did not happen: the orchestrator has no commit of this call, and the change is missing.'
    : 'It probably did not happen: the change is missing.';
}
