import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { parseDocument } from '#automations/store/automation-row.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { maskedMember, maskMembers } from '#json/mask-members.ts';
import type { FormCatalogue } from './form-catalogue.ts';
import { passwordFieldsOf } from './form-document.ts';

type FindForm = Pick<FormCatalogue, 'find'>;
type Input = Readonly<Record<string, unknown>>;

/** What of an automation matters here, as far as it is given. */
interface GivenInput {
  readonly data?: { readonly formId?: unknown; readonly input?: unknown } | null | undefined;
}

/**
 * The catalogue for readers: `***` is in place of what `data.input` has for password fields of the form of an automation. Who writes `***` back leaves
 * the value as it is; without a value there, that is `invalid-request` (400). Exports, imports and runs have the values.
 */
export function withoutPasswords(catalogue: AutomationCatalogue, forms: FindForm): AutomationCatalogue {
  const shownIn = async <State extends { readonly text: string }>(state: State): Promise<State> => ({
    ...state,
    text: await masksOf(forms)(state.text),
  });
  const kept = <Given>(given: Given, id?: string): Promise<Given> => withKeptPasswords(given, id, { catalogue, forms });
  return {
    ...catalogue,
    async list(request) {
      const { list, ...page } = await catalogue.list(request);
      return { ...page, list: await Promise.all(list.map(masksOf(forms))) };
    },
    async history(request) {
      const { list, ...page } = await catalogue.history(request);
      const mask = masksOf(forms);
      return {
        ...page,
        list: await Promise.all(list.map(async (entry) => ({ ...entry, document: await mask(entry.document) }))),
      };
    },
    read: async (request) => await shownIn(await catalogue.read(request)),
    create: async (request) => await shownIn(await catalogue.create({ ...request, given: await kept(request.given) })),
    replace: async (request) =>
      await shownIn(await catalogue.replace({ ...request, given: await kept(request.given, request.id) })),
    patch: async (request) => await shownIn(await catalogue.patch({ ...request, patch: await kept(request.patch, request.id) })),
    take: async (request) => await shownIn(await catalogue.take(request)),
  };
}

/** Masks documents. It asks for each form once. */
function masksOf(forms: FindForm): (document: string) => Promise<string> {
  const known = new Map<string, Promise<readonly string[]>>();
  return async (document) => {
    if (!document.includes('"formId":') || !document.includes('"input":')) return document;
    const { formId, input } = parseDocument(document).data ?? {};
    if (formId === undefined || input === undefined) return document;
    const fields = known.get(formId) ?? fieldsOf(forms, formId);
    known.set(formId, fields);
    const names = new Set(await fields);
    if (names.size === 0) return document;
    return maskMembers(document, (name, path) => names.has(name) && isOfInput(path()));
  };
}

function isOfInput([data, input, ...name]: readonly string[]): boolean {
  return data === 'data' && input === 'input' && name.length === 1;
}

async function fieldsOf(forms: FindForm, formId: unknown): Promise<readonly string[]> {
  const form = typeof formId === 'string' ? await forms.find(formId) : undefined;
  return form === undefined ? [] : passwordFieldsOf(form.text);
}

interface Stored {
  readonly formId?: string | undefined;
  readonly input?: unknown;
}

/** What is given, a document or a patch, with the stored values in place of `***`. `id`: absent for a new automation. */
async function withKeptPasswords<Given>(
  given: Given,
  id: string | undefined,
  { catalogue, forms }: { readonly catalogue: Pick<AutomationCatalogue, 'find'>; readonly forms: FindForm },
): Promise<Given> {
  const { data } = (given ?? {}) as GivenInput;
  const input = inputOf(data?.input);
  if (!Object.values(input).includes(maskedMember)) return given;
  const stored = await storedData(id, catalogue);
  if (stored === undefined) return given;
  const formId = data?.formId === undefined ? stored.formId : data.formId;
  const masked = (await fieldsOf(forms, formId)).filter((name) => input[name] === maskedMember);
  if (masked.length === 0) return given;
  const values = keptValues(masked, formId === stored.formId ? inputOf(stored.input) : {});
  return { ...given, data: { ...data, input: { ...input, ...values } } };
}

/** Empty for a new automation. Undefined: there is no such automation, as the change itself answers. */
async function storedData(id: string | undefined, catalogue: Pick<AutomationCatalogue, 'find'>): Promise<Stored | undefined> {
  if (id === undefined) return {};
  const found = await catalogue.find(id);
  return found && (found.automation.data ?? {});
}

function keptValues(masked: readonly string[], before: Input): Input {
  const missing = masked.filter((name) => before[name] === undefined);
  if (missing.length > 0) throw notKept(missing);
  return Object.fromEntries(masked.map((name) => [name, before[name]]));
}

function inputOf(value: unknown): Input {
  return typeof value === 'object' && value !== null ? (value as Input) : {};
}

function notKept(names: readonly string[]): GatewayError {
  const errors = names.map((name) => ({
    pointer: pointerTo('/data/input', name),
    detail: 'is what the gateway shows in place of a password, and the automation has none there; give the password',
  }));
  return new GatewayError('invalid-request', 'The input has what the gateway shows in place of a password.', { errors });
}
