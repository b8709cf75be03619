import { hasCredential, isCredential, maskMembers } from '#json/mask-members.ts';
import type { StoredRun } from '../journal/run-records.ts';
import { createMask, type Mask } from '../secrets/mask.ts';
import type { FilledPasswords } from '../secrets/placeholders.ts';

/** What readers see of what a task got and gave: no credentials by name, and no value of a password that people filled in. `hide`: of secrets. */
export function createDataMask({
  hide,
  passwords: { fields, values },
}: {
  readonly hide: Mask;
  readonly passwords: FilledPasswords;
}): Mask {
  const names = new Set(fields);
  const withoutPasswords = createMask(values);
  return (text) => {
    const shown = withoutPasswords(hide(text));
    const mayHaveField = names.size > 0;
    if (!mayHaveField && !hasCredential(shown)) return shown;
    return maskMembers(shown, (name) => isCredential(name) || names.has(name));
  };
}

/** What readers see of the input and the output of a run: no value of a password field, under its name or another one. */
export async function shownRun(run: Parameters<typeof passwordsOf>[0], read: Parameters<typeof passwordsOf>[1]): Promise<Mask> {
  const { passwordFields: fields = [] } = run;
  if (fields.length === 0) return (text) => text;
  const withoutValues = createMask(await passwordsOf(run, read));
  return (text) => maskMembers(withoutValues(text), (name) => fields.includes(name));
}

/** The password fields of the form of a run, and what people filled in. */
export async function filledPasswordsOf(
  { id, passwordFields: fields = [] }: Pick<StoredRun, 'id' | 'passwordFields'>,
  { read }: { readonly read: (id: string) => Promise<StoredRun | undefined> },
): Promise<FilledPasswords> {
  const run = fields.length === 0 ? undefined : await read(id);
  return { fields, values: run === undefined ? [] : await passwordsOf(run, read) };
}

/** What people filled into the password fields of the form of a run: the outermost run has it in its input. */
export async function passwordsOf(
  { id, input, parent, passwordFields: fields = [] }: Pick<StoredRun, 'id' | 'input' | 'parent' | 'passwordFields'>,
  read: (id: string) => Promise<Pick<StoredRun, 'input'> | undefined>,
): Promise<readonly string[]> {
  if (fields.length === 0) return [];
  // The id of a child begins with that of its parent.
  const outermost = parent === undefined ? { input } : await read(id.split('.')[0] ?? id);
  return outermost === undefined ? [] : passwordsIn(outermost.input, fields);
}

function passwordsIn(input: string, fields: readonly string[]): readonly string[] {
  const given: unknown = JSON.parse(input);
  if (typeof given !== 'object' || given === null) return [];
  const values = Object.entries(given).flatMap(([name, value]: [string, unknown]) =>
    fields.includes(name) ? [value].flat() : [],
  );
  return values.filter((value) => typeof value === 'string');
}
