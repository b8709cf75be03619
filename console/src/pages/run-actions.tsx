import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { GatewayError, type Run, type RunTask } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { schemaOf } from '../automations/automation-schema.ts';
import { change } from '../change.ts';
import { useLoad } from '../load.ts';
import { Action, useSending } from '../parts/action.tsx';
import { InputForm, inputOf } from '../parts/input-form.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { useRetryKey } from '../retry-key.ts';
import type { FlatSchema } from '../schema-form.ts';
import { gateway, may } from '../session.ts';
import { isUndecided } from '../task-tree.ts';

/** Whether a run has ended. */
export function isOver({ status }: Pick<Run, 'status'>): boolean {
  return status === 'completed' || status === 'faulted' || status === 'cancelled';
}

interface RunActionsProps {
  readonly run: Run;
  /** JSON text, with the digits of its numbers. */
  readonly input: string;
  readonly tasks: readonly RunTask[];
  readonly done: () => void;
}

/** What people can do about a run. What a role may not do is not there. */
export function RunActions({ run, input, tasks, done }: RunActionsProps): JSX.Element {
  const path = { id: run.id };
  const then = async (made: Promise<unknown>): Promise<void> => {
    await made;
    done();
  };
  return (
    <div class="buttons">
      {!isOver(run) && may('cancelRun') && (
        <Action
          tone="danger"
          confirm="Cancel this run? No further task begins, and a call in flight is aborted: it may have happened."
          act={() => then(change('cancelRun', { path }))}
        >
          Cancel the run
        </Action>
      )}
      {!isOver(run) && run.status !== 'suspended' && may('suspendRun') && (
        <Action act={() => then(change('suspendRun', { path }))}>Suspend</Action>
      )}
      {run.status === 'suspended' && !tasks.some(isUndecided) && may('resumeRun') && (
        <Action act={() => then(change('resumeRun', { path, body: {} }))}>Resume</Action>
      )}
      {may('rerunRun') && run.parent === undefined && <RunAgain run={run} input={input} />}
    </div>
  );
}

/** A new run of the same version: with the same input, with an edited one, or of the items that failed. */
function RunAgain({ run, input }: { readonly run: Run; readonly input: string }): JSX.Element {
  const withKey = useRetryKey();
  const again = async (key: string, rawBody?: string): Promise<void> => {
    const given = rawBody === undefined ? {} : { rawBody };
    const { value } = await withKey(`${run.id} ${key}`, (idempotencyKey) =>
      change('rerunRun', { path: { id: run.id }, idempotencyKey, ...given }),
    );
    goTo(hrefOf(['runs', value.id]));
  };
  return (
    <>
      <Action act={() => again('same')} confirm="Start a new run with the same input and the same version of the workflow?">
        Run again
      </Action>
      <EditedInput run={run} input={input} send={(edited) => again(edited, `{"input":${edited}}`)} />
      {isOver(run) && hasItemsLeft(run) && (
        <Action
          act={() => again('items', '{"items":"failed"}')}
          confirm="Start a new run, in which each batch takes of its items only those that failed, were cancelled or did not start? Tasks outside of batches run again."
        >
          Run the failed items again
        </Action>
      )}
    </>
  );
}

function hasItemsLeft({ items }: Run): boolean {
  return items !== undefined && items.failed + items.cancelled + items.notStarted > 0;
}

interface EditedProps {
  readonly run: Run;
  readonly input: string;
  readonly send: (input: string) => Promise<void>;
}

/** The form of the automation as it is now, or JSON. */
function EditedInput({ run, input, send }: EditedProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const open = (): void => {
    setOpen(true);
    dialog.current?.showModal();
  };
  const close = (): void => dialog.current?.close();
  return (
    <>
      <button type="button" onClick={open}>
        Run again with another input
      </button>
      <dialog ref={dialog} class="wide" aria-label="Run again with another input" onClose={() => setOpen(false)}>
        {isOpen && <EditedInputForm run={run} input={input} send={send} close={close} />}
      </dialog>
    </>
  );
}

function EditedInputForm({ run, input, send, close }: EditedProps & { readonly close: () => void }): JSX.Element {
  const loaded = useLoad(async (signal) => ({ schema: await schemaOfRun(run, signal) }), [run.id]);
  const { isBusy, error, submit } = useSending((form) => send(inputOf(form, loaded.value?.schema, input)));
  return (
    <Loading of={loaded}>
      {({ schema }) => (
        <form aria-label="Another input" onSubmit={submit}>
          <InputForm schema={schema} input={input} isStored />
          <div class="buttons">
            <button type="submit" class="main" aria-disabled={isBusy}>
              {isBusy ? 'Starting…' : 'Run with this input'}
            </button>
            <button type="button" onClick={close}>
              Do nothing
            </button>
          </div>
          {error !== undefined && <Failure error={error} />}
        </form>
      )}
    </Loading>
  );
}

/** Undefined: the input is typed as JSON. */
async function schemaOfRun({ automation: id }: Run, signal: AbortSignal): Promise<FlatSchema | undefined> {
  if (id === undefined || !may('readAutomation')) return undefined;
  try {
    const { value } = await gateway.readAutomation({ path: { id }, signal });
    return await schemaOf(value.data ?? {}, signal);
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}
