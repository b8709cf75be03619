import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { seenText } from '../texts.ts';
import { useTyped } from '../typed.ts';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Gets the id of the label, and that of the hint. */
  readonly children: (ids: { readonly id: string; readonly 'aria-describedby'?: string }) => ComponentChildren;
}

/** A labelled control. */
export function Field({ label, hint, children }: FieldProps): JSX.Element {
  const id = useId();
  const described = hint === undefined ? {} : { 'aria-describedby': `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{seenText(label)}</label>
      {children({ id, ...described })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {typeof hint === 'string' ? seenText(hint) : hint}
        </p>
      )}
    </div>
  );
}

interface InputProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string;
  readonly type?: 'password';
  readonly hint?: ComponentChildren;
  readonly required?: boolean;
  readonly autocomplete?: 'username' | 'current-password' | 'new-password' | 'off';
  readonly placeholder?: string;
}

export function Input({ label, hint, value = '', type, ...rest }: InputProps): JSX.Element {
  const begin = useTyped(rest.name, value);
  return (
    <Field label={label} hint={hint}>
      {(ids) => {
        const given = { ...ids, ...rest, defaultValue: begin, spellcheck: false };
        return type === 'password' ? <input {...given} type="password" /> : <input {...given} type="text" />;
      }}
    </Field>
  );
}

interface SelectProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly hint?: ComponentChildren;
  readonly onChange?: (value: string) => void;
}

export function Select({ label, name, value = '', options, hint, onChange }: SelectProps): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <select {...ids} name={name} onChange={(event) => onChange?.(event.currentTarget.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option} selected={option === value}>
              {seenText(text)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface AreaProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string;
  readonly rows?: number;
  readonly hint?: ComponentChildren;
}

export function Area({ label, name, value = '', rows = 6, hint }: AreaProps): JSX.Element {
  const begin = useTyped(name, value);
  return (
    <Field label={label} hint={hint}>
      {(ids) => <textarea {...ids} name={name} rows={rows} defaultValue={begin} spellcheck={false} class="code" />}
    </Field>
  );
}

/** The text of a control of a form. */
export function textOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value : '';
}
