import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { type Automation, GatewayError } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { type Loaded, useLoad } from '../load.ts';
import { Action, useSending } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Area, Input } from '../parts/field.tsx';
import { InputForm } from '../parts/input-form.tsx';
import { Failure } from '../parts/loading.tsx';
import type { FlatSchema } from '../schema-form.ts';
import { may } from '../session.ts';
import { inputText } from '../texts.ts';
import { Typed, useTyped } from '../typed.ts';
import { schemaOf } from './automation-schema.ts';
import { Conflict } from './conflict.tsx';
import type { Before } from './draft.ts';
import { useFormDraft } from './form-draft.ts';
import { type KeptForm, keepForm, keptForm } from './kept-form.ts';
import { Preview, usePreview } from './preview.tsx';
import { readStored, type StoredAutomation } from './read-stored.ts';
import { ScheduleFields } from './schedule-fields.tsx';
import { type Named, WorkflowFields } from './workflow-fields.tsx';

interface AutomationFormProps {
  /** What the draft belongs to. */
  readonly page: string;
  /** What a new one begins with, as JSON text; undefined: nothing. */
  readonly begin?: string | undefined;
  /** Of a new one: the query of its page. */
  readonly origin?: string;
  /** The automation that is changed; undefined: a new one is made. */
  readonly stored?: StoredAutomation;
}

/**
 * A form for all that an automation says. What it would do is shown next to it, before it is stored. What is typed stays a draft until it is
 * saved or discarded. Where another person saved meanwhile, it shows both changes, and puts this one over the other.
 */
export function AutomationForm({ page, begin, origin = '', stored }: AutomationFormProps): JSX.Element {
  const [round, setRound] = useState(0);
  const [saved, setSaved] = useState(stored);
  const begun = useRef<{ readonly round: number; readonly form: KeptForm } | undefined>(undefined);
  if (begun.current?.round !== round) {
    const fresh = { base: saved?.text, etag: saved?.etag ?? '', begin: saved?.text ?? begin, controls: [], origin };
    begun.current = { round, form: keptForm(page) ?? fresh };
  }
  const { form } = begun.current;
  const beginAgain = (next: KeptForm | undefined): void => {
    keepForm(page, next);
    setRound(round + 1);
  };
  return <Controls key={round} page={page} of={form} saved={saved} found={setSaved} beginAgain={beginAgain} />;
}

interface ControlsProps {
  readonly page: string;
  readonly of: KeptForm;
  /** The automation that is changed, as it is stored by the last reading. */
  readonly saved: StoredAutomation | undefined;
  readonly found: (newer: StoredAutomation) => void;
  /** Begins with that draft, or with what is stored. */
  readonly beginAgain: (next: KeptForm | undefined) => void;
}

function Controls({ page, of, saved, found, beginAgain }: ControlsProps): JSX.Element {
  const { before, input } = beginOf(of);
  const [named, setNamed] = useState<Named>(() => namedIn(of) ?? before?.data ?? {});
  const schema = useLoad((signal) => schemaOf(named, signal), [JSON.stringify(named)]);
  const draft = useFormDraft({ page, of, before, input, schema });
  const { form, look, isReady, isChanged } = draft;
  const previewed = usePreview(may('previewAutomation') ? draft.text : undefined);
  const newer = saved?.etag === of.etag ? undefined : saved;
  const isHeld = !isReady || newer !== undefined;
  const { isBusy, error, submit } = useSending(async (sent) => {
    if (!isHeld) await save({ of, id: saved?.id, found, textOf: (now) => draft.textOf(sent, now), page });
  });
  return (
    <Typed.Provider value={draft.typed}>
      {newer !== undefined && isReady && <Conflict of={of} newer={newer} mine={draft.text} beginAgain={beginAgain} />}
      <form ref={form} class="halves automation-form" aria-label="Automation" onSubmit={submit} onInput={look} onChange={look}>
        <div>
          <Panel title="What it does" aside={isChanged && <span class="unsaved">Not saved yet: kept in this tab</span>}>
            <Names before={before} />
            <WorkflowFields named={named} choose={setNamed} />
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
            timeZone={draft.timeZone}
            ownName={saved && nameIn(saved.text)}
            show={(control) => focusOn(form.current, control)}
          />
          <div class="buttons">
            <button type="submit" class="main" aria-disabled={isBusy || isHeld}>
              {textOfButton(isBusy, saved !== undefined)}
            </button>
            <Leave id={saved?.id} isChanged={isChanged} discard={() => beginAgain(undefined)} />
          </div>
          {error !== undefined && <Failure error={error} />}
        </div>
      </form>
    </Typed.Provider>
  );
}

/** What the controls begin with. */
function beginOf({ begin }: KeptForm): { readonly before: Before; readonly input: string } {
  return begin === undefined
    ? { before: undefined, input: '{}' }
    : { before: JSON.parse(begin) as Before, input: inputText(begin) };
}

function Names({ before }: { readonly before: Before }): JSX.Element {
  return (
    <>
      <Input label="Name (required)" name="name" value={before?.name ?? ''} required />
      <Input label="Description" name="description" value={before?.data?.description ?? ''} />
    </>
  );
}

function nameIn(text: string): string {
  return (JSON.parse(text) as Automation).name;
}

/** The workflow that a person had chosen. */
function namedIn({ controls }: KeptForm): Named | undefined {
  const typed = new Map(controls);
  if (!typed.has('version')) return undefined;
  const names = { workflowId: 'workflow', workflowVersion: 'version', formId: 'form' };
  const chosen = Object.entries(names).map(([name, control]) => [name, typed.get(control)?.[0] ?? ''] as const);
  return Object.fromEntries(chosen.filter(([, value]) => value !== ''));
}

interface Saving extends Pick<ControlsProps, 'found' | 'of' | 'page'> {
  /** Undefined: it is made. */
  readonly id: string | undefined;
  /** The request, with the times of that automation where the schedule was left alone. */
  readonly textOf: (current?: Automation) => string;
}

/** Saves it, unless another person saved it since the form began. */
async function save({ of, id, found, textOf, page }: Saving): Promise<void> {
  if (id === undefined) {
    const { value } = await change('createAutomation', { rawBody: textOf() });
    keepForm(page, undefined);
    goTo(hrefOf(['automations', value._id]));
    return;
  }
  const current = await readStored(id);
  if (current.etag !== of.etag) return found(current);
  try {
    const rawBody = textOf(JSON.parse(current.text) as Automation);
    await change('replaceAutomation', { path: { id }, headers: { 'If-Match': of.etag }, rawBody });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'precondition-failed') throw error;
    return found(await readStored(id));
  }
  keepForm(page, undefined);
  goTo(hrefOf(['automations', id]));
}

interface LeaveProps {
  readonly id: string | undefined;
  readonly isChanged: boolean;
  readonly discard: () => void;
}

function Leave({ id, isChanged, discard }: LeaveProps): JSX.Element {
  if (!isChanged) return <a href={hrefOf(id === undefined ? ['automations'] : ['automations', id])}>Cancel</a>;
  return (
    <Action tone="danger" confirm="Discard what you typed? The form begins again." act={async () => discard()}>
      Discard changes
    </Action>
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

function Groups({ before }: { readonly before: Before }): JSX.Element {
  const { read = [], write = [] } = before?.data?.gbac ?? {};
  const hasGroups = useTyped('read', read.join('')) + useTyped('write', write.join('')) !== '';
  return (
    <details class="panel" open={hasGroups}>
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
