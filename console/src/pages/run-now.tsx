import type { JSX } from 'preact';
import type { Automation } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { useSending } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Area, Field, Input, Select, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { useRetryKey } from '../retry-key.ts';
import { type FlatMember, type FlatSchema, shownText, typedJson } from '../schema-form.ts';
import { indentedJson, memberText } from '../texts.ts';

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
    const given = schema === undefined ? textOf(form, 'input').trim() || '{}' : inputOf(form, schema);
    const path = { id: automation._id };
    const rawBody = `{"input":${given}}`;
    const { value } = await withKey(rawBody, (idempotencyKey) => change('runAutomation', { path, rawBody, idempotencyKey }));
    goTo(hrefOf(['runs', value.id]));
  });
  return (
    <Panel title="Run now">
      <form aria-label="Run now" onSubmit={submit}>
        {schema === undefined ? (
          <Area label="Input, as JSON" name="input" value={indentedJson(input)} rows={6} />
        ) : (
          schema.members.map((member) => <MemberField key={member.name} member={member} json={memberText(input, member.name)} />)
        )}
        {schema?.members.length === 0 && <p>It takes no input.</p>}
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Starting…' : 'Run'}
        </button>
        {error !== undefined && <Failure error={error} />}
      </form>
    </Panel>
  );
}

function inputOf(form: HTMLFormElement, { members }: FlatSchema): string {
  const typed = members.flatMap((member) => {
    const json = typedJson(member, textOf(form, member.name));
    return json === undefined ? [] : [`${JSON.stringify(member.name)}:${json}`];
  });
  return `{${typed.join(',')}}`;
}

interface MemberFieldProps {
  readonly member: FlatMember;
  readonly json: string | undefined;
}

function MemberField({ member, json }: MemberFieldProps): JSX.Element {
  const { name, kind, title, description, isRequired, choices, byDefault, pattern } = member;
  const label = isRequired ? `${title} (required)` : title;
  const value = shownText(member, json ?? byDefault);
  if (kind === 'choice' || kind === 'boolean') {
    const options = kind === 'boolean' ? ['true', 'false'] : choices;
    const none = isRequired && value !== '' ? [] : [['', '–'] as const];
    return <Select label={label} name={name} value={value} options={[...none, ...options.map((one) => [one, one] as const)]} />;
  }
  if (kind === 'list') {
    return (
      <Field label={label} hint={[description, 'One entry a line.'].filter((part) => part !== undefined).join(' ')}>
        {(ids) => <textarea {...ids} name={name} rows={4} defaultValue={value} spellcheck={false} />}
      </Field>
    );
  }
  const hint = [description, pattern === undefined ? undefined : `Pattern: ${pattern}`]
    .filter((part) => part !== undefined)
    .join(' ');
  return <Input label={label} name={name} value={value} required={isRequired} {...(hint === '' ? {} : { hint })} />;
}
