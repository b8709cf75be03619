import type { JSX } from 'preact';
import { hrefOf, place } from '../address.ts';
import { AutomationForm } from '../automations/automation-form.tsx';
import { inputText } from '../automations/automation-schema.ts';
import type { Before } from '../automations/draft.ts';
import { Subject } from '../frame/subject.ts';
import { useLoad } from '../load.ts';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { gateway, may } from '../session.ts';

/** A new automation: empty, for a workflow, or as a copy of another one. */
export function NewAutomation(): JSX.Element {
  const { query } = place.value;
  const [from, workflowId] = [query.get('from') ?? '', query.get('workflow') ?? ''];
  const loaded = useLoad(
    async (signal): Promise<{ readonly before: Before; readonly input: string }> => {
      const empty = { _id: '', name: '', ...(workflowId === '' ? {} : { data: { workflowId } }) };
      if (from === '') return { before: workflowId === '' ? undefined : empty, input: '{}' };
      const { value, text } = await gateway.readAutomation({ path: { id: from }, signal });
      const { lastRunAt: _last, ...copied } = value;
      return { before: { ...copied, name: `${value.name} (copy)` }, input: inputText(text) };
    },
    [from, workflowId],
  );
  if (!may('createAutomation')) return <NeededRight of="createAutomation" to="create an automation" />;
  return (
    <Loading of={loaded}>
      {({ before, input }) => (
        <>
          <Subject title={from === '' ? 'New automation' : 'Copy of an automation'} above={above(from)} />
          <AutomationForm before={before} input={input} />
        </>
      )}
    </Loading>
  );
}

function above(from: string) {
  return from === '' ? [] : [{ title: 'The original', href: hrefOf(['automations', from]) }];
}
