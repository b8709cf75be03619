import type { JSX } from 'preact';
import type { Automation } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { useSending } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { InputForm, inputOf } from '../parts/input-form.tsx';
import { Failure } from '../parts/loading.tsx';
import { useRetryKey } from '../retry-key.ts';
import type { FlatSchema } from '../schema-form.ts';
import { haveSameMembers } from '../texts.ts';

interface RunNowProps {
  readonly automation: Automation;
  /** Undefined: the input is typed as JSON. */
  readonly schema: FlatSchema | undefined;
  /** The input of scheduled runs, as JSON text. */
  readonly input: string;
}

/** A form from the schema of the input. It starts a run, and shows it. */
export function RunNow({ automation, schema, input }: RunNowProps): JSX.Element {
  const withKey = useRetryKey();
  const { isBusy, error, submit } = useSending(async (form) => {
    const path = { id: automation._id };
    const typed = inputOf(form, schema, input);
    // Readers see `***` in place of its passwords, and the gateway has them.
    const rawBody = haveSameMembers(typed, input) ? '{}' : `{"input":${typed}}`;
    const { value } = await withKey(rawBody, (idempotencyKey) => change('runAutomation', { path, rawBody, idempotencyKey }));
    goTo(hrefOf(['runs', value.id]));
  });
  return (
    <Panel title="Run now">
      <form aria-label="Run now" onSubmit={submit}>
        <InputForm schema={schema} input={input} isStored={input !== '{}'} />
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Starting…' : 'Run'}
        </button>
        {error !== undefined && <Failure error={error} />}
      </form>
    </Panel>
  );
}
