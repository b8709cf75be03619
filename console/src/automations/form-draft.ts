import { useEffect, useRef, useState } from 'preact/hooks';
import type { Automation } from '#client/gateway.ts';
import type { Loaded } from '../load.ts';
import { textOf as textOfControl } from '../parts/field.tsx';
import type { FlatSchema } from '../schema-form.ts';
import { controlsIn, type TypedControls } from '../typed.ts';
import { type Before, draftText } from './draft.ts';
import { type KeptForm, keepForm, keptForm } from './kept-form.ts';

interface FormDraftOptions {
  readonly page: string;
  readonly of: KeptForm;
  /** What the controls begin with. */
  readonly before: Before;
  readonly input: string;
  readonly schema: Loaded<FlatSchema | undefined>;
}

interface FormDraft {
  readonly form: { readonly current: HTMLFormElement | null };
  /** To be called after each input. */
  readonly look: () => void;
  readonly typed: TypedControls;
  /** The request that the form makes; undefined: nothing was typed. */
  readonly text: string | undefined;
  readonly timeZone: string;
  /** The form has all controls. */
  readonly isReady: boolean;
  /** It says something else than what is stored. */
  readonly isChanged: boolean;
  /** The request, with the times of `current` where the schedule was left alone. */
  readonly textOf: (form: HTMLFormElement, current?: Automation) => string;
}

/** Keeps what is typed into the form of an automation. */
export function useFormDraft({ page, of, before, input, schema }: FormDraftOptions): FormDraft {
  const form = useRef<HTMLFormElement>(null);
  const typed = useRef<TypedControls['current']>(new Map(of.controls));
  const untouched = useRef<string | undefined>(undefined);
  const [text, setText] = useState<string | undefined>(undefined);
  const [timeZone, setTimeZone] = useState(before?.data?.timeZone ?? 'UTC');
  const [isChanged, setChanged] = useState(() => keptForm(page) !== undefined);
  // Until then the form does not have the input.
  const isReady = schema.value !== undefined || !schema.isLoading;
  const textOf = (sent: HTMLFormElement, current: Before = before): string =>
    draftText(sent, { before, current, input, schema: schema.value });
  const show = (shown: HTMLFormElement): string => {
    const now = textOf(shown);
    setText(now);
    setTimeZone(textOfControl(shown, 'timeZone') || 'UTC');
    return now;
  };
  const latest = useRef(show);
  latest.current = show;
  const keep = (): void => {
    if (form.current === null) return;
    typed.current = controlsIn(form.current, typed.current);
    const isSame = latest.current(form.current) === untouched.current;
    setChanged(!isSame);
    keepForm(page, isSame ? undefined : { ...of, controls: [...typed.current] });
  };
  useEffect(() => {
    if (!isReady || form.current === null) return;
    const isUntouched = keptForm(page) === undefined;
    if (isUntouched) untouched.current ??= textOf(form.current);
    if (before !== undefined || !isUntouched) show(form.current);
  }, [isReady]);
  // The controls of the schedule follow a choice a moment later.
  return { form, look: () => setTimeout(keep), typed, text, timeZone, isReady, isChanged, textOf };
}
