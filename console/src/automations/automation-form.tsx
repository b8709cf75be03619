import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AutomationData, ListedForm, ListedWorkflow } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { type Loaded, useLoad } from '../load.ts';
import { useSending } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Area, Input, Select, textOf } from '../parts/field.tsx';
import { InputForm } from '../parts/input-form.tsx';
import { Failure } from '../parts/loading.tsx';
import type { FlatSchema } from '../schema-form.ts';
import { gateway, may } from '../session.ts';
import { schemaOf } from './automation-schema.ts';
import { type Before, draftText } from './draft.ts';
import { Preview, usePreview } from './preview.tsx';
import { ScheduleFields } from './schedule-fields.tsx';

interface AutomationFormProps {
  /** What the form begins with. */
  readonly before: Before;
  /** Its input as JSON text. */
  readonly input: string;
  /** The automation that is changed; undefined: a new one is made. */
  readonly stored?: { readonly id: string; readonly etag: string };
}

type Named = Pick<AutomationData, 'formId' | 'workflowId' | 'workflowVersion'>;

/** A form for all that an automation says. What it would do is shown next to it, before it is stored. */
export function AutomationForm({ before, input, stored }: AutomationFormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const { name: ownName = '', data = {} } = before ?? {};
  const [named, setNamed] = useState<Named>(data);
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const [timeZone, setTimeZone] = useState(data.timeZone ?? 'UTC');
  const schema = useLoad((signal) => schemaOf(named, signal), [JSON.stringify(named)]);
  const previewed = usePreview(may('previewAutomation') ? draft : undefined);
  const { isBusy, error, submit } = useSending(async (sent) => {
    const rawBody = draftText(sent, { before, input, schema: schema.value });
    const { value } = await (stored === undefined
      ? change('createAutomation', { rawBody })
      : change('replaceAutomation', { path: { id: stored.id }, headers: { 'If-Match': stored.etag }, rawBody }));
    goTo(hrefOf(['automations', value._id]));
  });
  const look = (): void => {
    // The controls of the schedule follow a choice a moment later.
    setTimeout(() => {
      if (form.current === null) return;
      setDraft(draftText(form.current, { before, input, schema: schema.value }));
      setTimeZone(textOf(form.current, 'timeZone') || 'UTC');
    });
  };
  useEffect(() => {
    if (before !== undefined && !schema.isLoading) look();
  }, [schema.isLoading]);
  return (
    <form ref={form} class="halves automation-form" aria-label="Automation" onSubmit={submit} onInput={look} onChange={look}>
      <div>
        <Panel title="What it does">
          <Input label="Name (required)" name="name" value={ownName} required />
          <Input label="Description" name="description" value={data.description ?? ''} />
          <Workflow named={named} choose={setNamed} />
        </Panel>
        <Panel title="Input">
          <p class="note">What a scheduled run gets, and what the form to run it begins with.</p>
          <AutomationInput key={JSON.stringify(named)} schema={schema} input={input} />
        </Panel>
        <Panel title="Schedule">
          <ScheduleFields before={before} />
        </Panel>
        <Groups before={before} />
      </div>
      <div class="outlook">
        <Preview
          of={previewed}
          timeZone={timeZone}
          ownName={stored && ownName}
          show={(control) => focusOn(form.current, control)}
        />
        <div class="buttons">
          <button type="submit" class="main" aria-disabled={isBusy}>
            {textOfButton(isBusy, stored !== undefined)}
          </button>
          <a href={hrefOf(stored === undefined ? ['automations'] : ['automations', stored.id])}>Cancel</a>
        </div>
        {error !== undefined && <Failure error={error} />}
      </div>
    </form>
  );
}

function AutomationInput({
  schema,
  input,
}: {
  readonly schema: Loaded<FlatSchema | undefined>;
  readonly input: string;
}): JSX.Element {
  if (schema.value === undefined && schema.isLoading) return <p class="loading">Loading…</p>;
  if (schema.value !== undefined) return <InputForm schema={schema.value} input={input} isStored={input !== '{}'} />;
  return (
    <details open={input !== '{}'}>
      <summary>The workflow does not say what it takes</summary>
      <InputForm schema={undefined} input={input} />
    </details>
  );
}

function textOfButton(isBusy: boolean, isStored: boolean): string {
  if (isBusy) return 'Saving…';
  return isStored ? 'Save the changes' : 'Create the automation';
}

/** The control itself, or the one that all of an input is typed into. */
function focusOn(form: HTMLFormElement | null, control: string): void {
  const found = form?.elements.namedItem(control) ?? form?.elements.namedItem('input');
  const element = found instanceof RadioNodeList ? found[0] : found;
  if (element instanceof HTMLElement) element.focus();
}

interface WorkflowProps {
  readonly named: Named;
  readonly choose: (named: Named) => void;
}

function Workflow({ named, choose }: WorkflowProps): JSX.Element {
  const { value } = useLoad(async (signal) => {
    const [workflows, forms] = await Promise.all([
      may('listWorkflows') ? gateway.listWorkflows({ query: { limit: 1000 }, signal }) : undefined,
      may('listForms') ? gateway.listForms({ query: { limit: 1000 }, signal }) : undefined,
    ]);
    return { workflows: workflows?.value.list, forms: forms?.value.list ?? [] };
  }, []);
  const { workflowId = '', workflowVersion = '', formId = '' } = named;
  const { workflows, forms = [] } = value ?? {};
  const versions = workflows?.find(({ id }) => id === workflowId)?.versions ?? [];
  return (
    <>
      {workflows === undefined ? (
        <Input label="Workflow" name="workflow" value={workflowId} hint="Its id, such as demo.nightly-check." />
      ) : (
        <Select
          label="Workflow"
          name="workflow"
          value={workflowId}
          options={workflowOptions(workflows, workflowId)}
          onChange={(id) => choose({ ...some('workflowId', id), ...some('formId', formId) })}
        />
      )}
      <Select
        label="Version"
        name="version"
        value={workflowVersion}
        hint="The newest release: each run takes the one that is the newest when it starts."
        options={versionOptions(versions, workflowVersion)}
        onChange={(version) => choose({ ...named, ...some('workflowVersion', version) })}
      />
      {(forms.length > 0 || formId !== '') && (
        <Select
          label="Form"
          name="form"
          value={formId}
          hint="Says what the input has to be, in place of the schema of the workflow."
          options={formOptions(forms, formId)}
          onChange={(form) =>
            choose({ ...some('workflowId', workflowId), ...some('workflowVersion', workflowVersion), ...some('formId', form) })
          }
        />
      )}
    </>
  );
}

type Option = readonly [value: string, text: string];

function workflowOptions(list: readonly ListedWorkflow[], chosen: string): readonly Option[] {
  const known = list.map(({ id, title }): Option => [id, title === undefined ? id : `${title} (${id})`]);
  return [['', 'none yet'], ...withChosen(known, chosen, 'does not exist')];
}

function versionOptions(versions: readonly string[], chosen: string): readonly Option[] {
  // A pre-release is never the newest.
  const newest = versions.find((version) => !version.includes('-'));
  const known = versions.map((version): Option => [version, version]);
  return [
    ['', newest === undefined ? 'the newest release' : `the newest release, now ${newest}`],
    ...withChosen(known, chosen, 'does not exist'),
  ];
}

function formOptions(forms: readonly ListedForm[], chosen: string): readonly Option[] {
  return [
    ['', 'none'],
    ...withChosen(
      forms.map(({ id, title }): Option => [id, title ?? id]),
      chosen,
      'does not exist',
    ),
  ];
}

/** What is chosen stays a choice, although it is gone. */
function withChosen(known: readonly Option[], chosen: string, words: string): readonly Option[] {
  const isKnown = chosen === '' || known.some(([value]) => value === chosen);
  return isKnown ? known : [...known, [chosen, `${chosen} (${words})`]];
}

function Groups({ before }: { readonly before: Before }): JSX.Element {
  const { read = [], write = [] } = before?.data?.gbac ?? {};
  return (
    <details class="panel" open={read.length + write.length > 0}>
      <summary>Groups</summary>
      <Area
        label="Groups that read it"
        name="read"
        rows={2}
        value={read.join('\n')}
        hint="One a line. None: all roles that list automations."
      />
      <Area
        label="Groups that change and run it"
        name="write"
        rows={2}
        value={write.join('\n')}
        hint="One a line. Their members run it with any role. None: all roles that change automations."
      />
    </details>
  );
}

function some<Name extends keyof Named>(name: Name, value: string): Partial<Record<Name, string>> {
  return value === '' ? {} : ({ [name]: value } as Partial<Record<Name, string>>);
}
