import type { JSX } from 'preact';
import { goTo, hrefOf, place } from '../address.ts';
import { draftOf, keepDraft } from '../drafts.ts';
import { Subject } from '../frame/subject.ts';
import { Action, useSending } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Input, textOf } from '../parts/field.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { may } from '../session.ts';
import { EditWorkflow } from './edit.tsx';
import { documentFrom, templates } from './templates.ts';

const page = 'workflow new';

/** A new workflow: its name and what it begins with, then the editor. */
export function NewWorkflow(): JSX.Element {
  const isEditing = place.value.query.get('view') === 'edit' && draftOf(page) !== undefined;
  return (
    <>
      <Subject
        title="New workflow"
        {...(isEditing ? { above: [{ title: 'New workflow', href: hrefOf(['workflows', 'new']) }] } : {})}
      />
      {!may('createWorkflow') ? (
        <NeededRight of="createWorkflow" to="store a workflow" />
      ) : isEditing ? (
        <EditWorkflow page={page} stored="" versions={[]} />
      ) : (
        <Beginning />
      )}
    </>
  );
}

function edit(): void {
  goTo(hrefOf(['workflows', 'new'], { view: 'edit' }));
}

function Beginning(): JSX.Element {
  const { submit } = useSending(async (form) => {
    const [namespace = '', name = '', title = ''] = ['namespace', 'name', 'title'].map((field) => textOf(form, field).trim());
    const template = templates.find((one) => one.name === textOf(form, 'template')) ?? templates[0];
    if (template !== undefined) keepDraft(page, documentFrom(template, { namespace, name, title }));
    edit();
  });
  return (
    <>
      {draftOf(page) !== undefined && <Unstored />}
      <Panel title="What it is called, and what it begins with">
        <form aria-label="New workflow" onSubmit={submit}>
          <Input label="Title" name="title" hint="What people read, such as: Bring up a VPN." />
          <Input
            label="Namespace"
            name="namespace"
            value="lab"
            required
            hint="Letters, digits and -. Workflows of a team share it."
          />
          <Input
            label="Name"
            name="name"
            required
            hint="Letters, digits and -, such as bring-up-vpn. With the namespace it is the id."
          />
          <fieldset>
            <legend>Begin with</legend>
            {templates.map(({ name, title, words }, at) => (
              <label key={name} class="choice">
                <input type="radio" name="template" value={name} defaultChecked={at === 0} />{' '}
                <span>
                  <strong>{title}</strong>
                  <br />
                  <span class="soft">{words}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <button type="submit" class="main">
            Open the editor
          </button>
        </form>
      </Panel>
    </>
  );
}

function Unstored(): JSX.Element {
  return (
    <Panel title="You have not stored your last one">
      <div class="buttons">
        <button type="button" class="main" onClick={edit}>
          Open it
        </button>
        <Action tone="danger" confirm="Discard the workflow that you did not store?" act={async () => keepDraft(page, undefined)}>
          Discard it
        </Action>
      </div>
    </Panel>
  );
}
