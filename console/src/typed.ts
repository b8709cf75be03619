import { createContext } from 'preact';
import { useContext, useRef } from 'preact/hooks';

/** What a person typed into the controls of a form, by their names. A control that comes back begins with it. */
export interface TypedControls {
  current: ReadonlyMap<string, readonly string[]>;
}

export const Typed = createContext<TypedControls | undefined>(undefined);

/** What a control begins with: what a person typed into it before, else `value`. */
export function useTyped(name: string, value: string): string {
  const typed = useContext(Typed)?.current.get(name)?.[0];
  const first = useRef(typed);
  return first.current ?? value;
}

/** All values of a name, such as of boxes that are checked; undefined where no control was shown. */
export function useTypedList(name: string): readonly string[] | undefined {
  const typed = useContext(Typed)?.current.get(name);
  return useRef(typed).current;
}

/** The controls as they are. Those that the form does not show now keep what was typed into them. */
export function controlsIn(form: HTMLFormElement, before: TypedControls['current']): TypedControls['current'] {
  const shown = new Map<string, string[]>();
  for (const element of form.elements) {
    const name = element.getAttribute('name');
    // A group without a checked box says so.
    if (name !== null && name !== '') shown.set(name, []);
  }
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') shown.get(name)?.push(value);
  return new Map([...before, ...shown]);
}
