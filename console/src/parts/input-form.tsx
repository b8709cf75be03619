import type { JSX } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import { type FlatMember, type FlatSchema, shownText, typedJson } from '../schema-form.ts';
import { indentedJson, memberNames, memberText } from '../texts.ts';
import { Typed, useTyped } from '../typed.ts';
import { Area, Field, Input, Select, textOf } from './field.tsx';

interface InputFormProps {
  /** Undefined: the input is typed as JSON. */
  readonly schema: FlatSchema | undefined;
  /** JSON text, with the digits of its numbers. */
  readonly input: string;
  /** A stored input stays as it is: what it leaves out is not filled in. */
  readonly isStored?: boolean;
}

/**
 * The controls of an input, from its schema, or as JSON. Members that the schema does not have are shown as JSON, so that none gets lost.
 * A form that has the controls reads them by `inputOf`.
 */
export function InputForm({ schema, input, isStored = false }: InputFormProps): JSX.Element {
  const typedBefore = useContext(Typed);
  const [shown, setShown] = useState({
    input,
    isJson: schema === undefined || typedBefore?.current.has('input') === true || !fits(schema, input),
  });
  const box = useRef<HTMLDivElement>(null);
  if (schema === undefined || shown.isJson) {
    return (
      <div ref={box}>
        <Area label="Input, as JSON" name="input" value={indentedJson(shown.input)} rows={6} />
        {schema !== undefined && <Turn to="As a form" turn={() => turn(false)} />}
      </div>
    );
  }
  return (
    <div ref={box}>
      {schema.members.map((member) => (
        <MemberField key={member.name} member={member} json={jsonOf(member)} />
      ))}
      {schema.members.length === 0 ? <p>It takes no input.</p> : <Turn to="As JSON" turn={() => turn(true)} />}
    </div>
  );

  function jsonOf({ name, byDefault }: FlatMember): string | undefined {
    return memberText(shown.input, name) ?? (isStored ? undefined : byDefault);
  }

  function turn(isJson: boolean): void {
    const form = box.current?.closest('form');
    const typed = form instanceof HTMLFormElement ? inputOf(form, schema, shown.input) : shown.input;
    // The other controls begin with what these say.
    if (typedBefore !== undefined) {
      const others = [...typedBefore.current].filter(([name]) => name !== 'input' && !name.startsWith(prefix));
      typedBefore.current = new Map(others);
    }
    setShown({ input: typed, isJson });
  }
}

function Turn({ to, turn }: { readonly to: string; readonly turn: () => void }): JSX.Element {
  return (
    <button type="button" class="link turn" onClick={turn}>
      {to}
    </button>
  );
}

/** Whether controls for the members of a schema show all of an input. */
function fits({ members }: FlatSchema, input: string): boolean {
  return memberNames(input).every((name) => members.some((member) => member.name === name));
}

const prefix = 'input:';

/** The input that people typed, as JSON text. What they left alone stays as it is in `before`, letter by letter. */
export function inputOf(form: HTMLFormElement, schema: FlatSchema | undefined, before = '{}'): string {
  const isJson = schema === undefined || form.elements.namedItem('input') !== null;
  if (isJson) return textOf(form, 'input').trim() || '{}';
  const typed = schema.members.flatMap((member) => {
    const typed = textOf(form, `${prefix}${member.name}`);
    const kept = memberText(before, member.name);
    const json = kept !== undefined && typed === shownText(member, kept) ? kept : typedJson(member, typed);
    return json === undefined ? [] : [`${JSON.stringify(member.name)}:${json}`];
  });
  return `{${typed.join(',')}}`;
}

interface MemberFieldProps {
  readonly member: FlatMember;
  readonly json: string | undefined;
}

function MemberField({ member, json }: MemberFieldProps): JSX.Element {
  const { kind, title, description, isRequired, choices, pattern } = member;
  const name = `${prefix}${member.name}`;
  const label = isRequired ? `${title} (required)` : title;
  const begin = shownText(member, json);
  const value = useTyped(name, begin);
  const hint = [description, kind === 'list' ? 'One entry a line.' : undefined, pattern && `Pattern: ${pattern}`]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
  const hinted = hint === '' ? {} : { hint };
  if (kind === 'choice' || kind === 'boolean') {
    const options = kind === 'boolean' ? ['true', 'false'] : choices;
    const none = isRequired && value !== '' ? [] : [['', '–'] as const];
    const all = [...none, ...options.map((one) => [one, kind === 'boolean' ? yesNo(one) : one] as const)];
    return <Select label={label} name={name} value={value} options={all} {...hinted} />;
  }
  if (kind === 'list') {
    return (
      <Field label={label} {...hinted}>
        {(ids) => <textarea {...ids} name={name} rows={4} defaultValue={value} spellcheck={false} />}
      </Field>
    );
  }
  return <Input label={label} name={name} value={value} required={isRequired} {...hinted} />;
}

function yesNo(value: string): string {
  return value === 'true' ? 'yes' : 'no';
}
