import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Approval } from '#client/gateway.ts';
import { change } from '../change.ts';
import { useSending } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Field, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import type { WholeText } from './whole-text.tsx';

interface DecideProps {
  readonly approval: Approval;
  /** What people decide about. While a part is hidden the page offers no grant. */
  readonly parts: readonly (readonly [name: string, text: WholeText])[];
  readonly decided: () => void;
}

/** The decision about an approval. */
export function DecideApproval({ approval: { id, batch }, parts, decided }: DecideProps): JSX.Element {
  const { isBusy, error, submit } = useSending(async (form) => {
    const body = { reason: textOf(form, 'reason') };
    await change(textOf(form, 'as') === 'grant' ? 'grantApproval' : 'rejectApproval', { path: { id }, body });
    decided();
  });
  const hidden = parts.filter(([, text]) => text.hidden > 0);
  const choices = useRef<HTMLFieldSetElement>(null);
  const isCut = batch?.truncated === true;
  const isWhole = hidden.length === 0 && !isCut;
  return (
    <Panel title="Your decision">
      {isCut && (
        <p class="may not">
          The gateway does not show all items of this batch, so this page offers no grant. Read them in the run, then grant with{' '}
          <code>orchestration-gateway approvals grant {id}</code>.
        </p>
      )}
      {hidden.length > 0 && <Hidden parts={hidden} shown={() => choices.current?.focus()} />}
      <form aria-label="Decide" onSubmit={submit}>
        <fieldset ref={choices} tabIndex={-1}>
          <legend>Decision</legend>
          {isWhole && (
            <Choice name="grant">
              {batch === undefined
                ? 'Grant: the call may be made once, exactly as shown.'
                : `Grant: the calls of all ${batch.items} items may be made, each once in its turn.`}
            </Choice>
          )}
          <Choice name="reject">Reject: {batch === undefined ? 'the call is not made.' : 'none of the calls is made.'}</Choice>
        </fieldset>
        <Field label="Reason" hint="Who asked reads it, and the audit log keeps it.">
          {(ids) => <textarea {...ids} name="reason" rows={2} required />}
        </Field>
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Deciding…' : 'Decide'}
        </button>
        {error !== undefined && <Failure error={error} />}
      </form>
    </Panel>
  );
}

function Choice({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <label class="choice">
      <input type="radio" name="as" value={name} required /> <span>{children}</span>
    </label>
  );
}

function Hidden({ parts, shown }: { readonly parts: DecideProps['parts']; readonly shown: () => void }): JSX.Element {
  return (
    <div class="may not">
      <p>
        <strong>You may grant once you have all of it before you.</strong> The page does not show yet:{' '}
        {parts.map(([name, { hidden }]) => `${hidden.toLocaleString('en')} characters of ${name}`).join(', ')}.
      </p>
      <button
        type="button"
        onClick={() => {
          for (const [, { showAll }] of parts) showAll();
          shown();
        }}
      >
        Show all of it
      </button>
    </div>
  );
}
