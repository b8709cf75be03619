import type { JSX } from 'preact';
import { goTo, hrefOf, place } from '../address.ts';
import { AutomationForm } from '../automations/automation-form.tsx';
import { keepForm, keptForm } from '../automations/kept-form.ts';
import { withInput } from '../automations/states.ts';
import { Subject } from '../frame/subject.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { gateway, may } from '../session.ts';
import { inputText } from '../texts.ts';

const page = 'automation new';

/** A new automation: empty, for a workflow, or as a copy of another one. */
export function NewAutomation(): JSX.Element {
  const { query } = place.value;
  const [from, workflowId] = [query.get('from') ?? '', query.get('workflow') ?? ''];
  const origin = query.toString();
  if (!may('createAutomation')) return <NeededRight of="createAutomation" to="create an automation" />;
  const kept = keptForm(page);
  return (
    <>
      <Subject title={from === '' ? 'New automation' : 'Copy of an automation'} above={above(from)} />
      {kept !== undefined && kept.origin !== origin ? (
        <Unsaved origin={kept.origin} />
      ) : (
        <Form key={origin} from={from} workflowId={workflowId} origin={origin} />
      )}
    </>
  );
}

interface FormProps {
  readonly from: string;
  readonly workflowId: string;
  readonly origin: string;
}

function Form({ from, workflowId, origin }: FormProps): JSX.Element {
  const loaded = useLoad(
    async (signal): Promise<{ readonly begin: string | undefined }> => {
      if (from === '') return { begin: workflowId === '' ? undefined : withInput({ name: '', data: { workflowId } }, undefined) };
      const { value, text } = await gateway.readAutomation({ path: { id: from }, signal });
      const { lastRunAt: _last, ...copied } = value;
      const input = value.data?.input === undefined ? undefined : inputText(text);
      return { begin: withInput({ ...copied, name: `${value.name} (copy)` }, input) };
    },
    [from, workflowId],
  );
  return <Loading of={loaded}>{({ begin }) => <AutomationForm page={page} begin={begin} origin={origin} />}</Loading>;
}

/** The form keeps one draft: a person opens or discards it before another one begins. */
function Unsaved({ origin }: { readonly origin: string }): JSX.Element {
  return (
    <Panel title="You have not saved your last one">
      <div class="buttons">
        <button
          type="button"
          class="main"
          onClick={() => goTo(hrefOf(['automations', 'new'], Object.fromEntries(new URLSearchParams(origin))))}
        >
          Open it
        </button>
        <Action tone="danger" confirm="Discard the automation that you did not save?" act={async () => keepForm(page, undefined)}>
          Discard it
        </Action>
      </div>
    </Panel>
  );
}

function above(from: string) {
  return from === '' ? [] : [{ title: 'The original', href: hrefOf(['automations', from]) }];
}
