import type { Principal } from '#access/principal.ts';
import { isId } from '#automations/automation-document.ts';
import type { WhyNotWriter } from '#automations/delegation.ts';
import { entityTag, type Preconditions, requireMatch } from '#automations/entity-tag.ts';
import type { Clock } from '#base/clock.ts';
import { andMore, GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import type { SchemaThreads } from '#workflows/schemas/schema-threads.ts';
import { readForm } from './form-document.ts';
import type { FormStore, ListedForm, StoredForm } from './form-store.ts';

export type { ListedForm, StoredForm };

interface FormCatalogueOptions {
  readonly store: FormStore;
  readonly schemas: Pick<SchemaThreads, 'judge'>;
  readonly clock: Clock;
  readonly whyNotWriter: WhyNotWriter;
}

interface GivenForm {
  readonly principal: Principal;
  readonly id: string;
  readonly bytes: Buffer;
}

type ImportedForm = [
  transaction: Parameters<FormStore['putIn']>[0],
  form: StoredForm,
  by: { readonly principal: Principal; readonly whyNotWriter: WhyNotWriter },
];

interface FormChange {
  readonly principal: Principal;
  readonly id: string;
  readonly preconditions: Preconditions;
}

export type FormCatalogue = ReturnType<typeof createFormCatalogue>;

/** For principals whose role is checked already. */
export function createFormCatalogue({ store, schemas, clock, whyNotWriter }: FormCatalogueOptions) {
  const find = async (id: string): Promise<StoredForm | undefined> => (isId(id) ? await store.read(id) : undefined);
  const readGiven = async ({ principal, id, bytes }: GivenForm): Promise<StoredForm> => {
    if (!isId(id)) throw unusableId();
    const reading = readForm(bytes);
    if ('problems' in reading) throw invalid(reading.problems);
    const text = bytes.toString();
    const problems = await defaultProblems(text, { schemas, person: principal.id });
    if (problems.length > 0) throw invalid(problems);
    const { id: writerId, username } = principal;
    const writer = { id: writerId, username };
    return { id, text, title: reading.title, lastUpdated: clock.now(), lastModifiedBy: username, writer };
  };
  return {
    /**
     * Who runs the automations that name a form fills it in, so the principal needs the right to write the workflow of each (`forbidden`,
     * 403). `form-invalid` (400) has every problem of the document, `invalid-request` (400) those of the id. Also `precondition-failed`
     * (412).
     */
    async put({ preconditions, ...given }: FormChange & GivenForm) {
      const form = await readGiven(given);
      const { isNew, stored } = await store.put(form, async ({ current, workflows }) => {
        requireMatch(preconditions, current && entityTag(current.text), 'form');
        await refuse(given.principal, workflows, whyNotWriter);
      });
      return { form: stored, isNew };
    },
    /** Of an import. Rejects as `put` does. */
    readGiven,
    /** Resolves with true where the form was there before. Rejects with `forbidden`. */
    async putIn(...[transaction, form, { principal, ...needs }]: ImportedForm): Promise<boolean> {
      const { isNew } = await store.putIn(transaction, form, ({ workflows }) => refuse(principal, workflows, needs.whyNotWriter));
      return !isNew;
    },
    all: store.all,
    find,
    /** Rejects with `form-not-found` (404). */
    async read(id: string): Promise<StoredForm> {
      const form = await find(id);
      if (form === undefined) throw notFound();
      return form;
    },
    list: store.list,
    /** `form-in-use` (409): an automation names the form. Also `form-not-found` and `precondition-failed`. */
    async remove({ principal, id, preconditions }: FormChange): Promise<void> {
      if (!isId(id)) throw notFound();
      await store.remove(id, async ({ current, workflows }) => {
        if (current === undefined) throw notFound();
        requireMatch(preconditions, entityTag(current.text), 'form');
        await refuse(principal, workflows, whyNotWriter);
        if (workflows.length > 0) throw inUse();
      });
    },
  };
}

async function refuse(
  principal: Principal,
  workflows: readonly (string | undefined)[],
  whyNotWriter: WhyNotWriter,
): Promise<void> {
  for (const id of new Set(workflows)) {
    const reason = id === undefined ? undefined : await whyNotWriter(principal, id);
    if (reason !== undefined) throw notYours(id, reason);
  }
}

/** Default values that do not satisfy their own fields. */
async function defaultProblems(
  text: string,
  { schemas, person }: { readonly schemas: Pick<SchemaThreads, 'judge'>; readonly person: string },
): Promise<readonly RequestProblem[]> {
  const { required: _, ...form } = JSON.parse(text) as JsonSchema;
  const fields = Object.entries(form['properties'] as Readonly<Record<string, JsonSchema>>);
  const defaults = fields.flatMap(([name, field]) =>
    Object.hasOwn(field, 'default') ? [[name, field['default']] as const] : [],
  );
  if (defaults.length === 0) return [];
  const verdict = await schemas.judge({
    schema: JSON.stringify(form),
    value: JSON.stringify(Object.fromEntries(defaults)),
    person,
  });
  if ('fault' in verdict) return [verdict.fault];
  return verdict.problems.map(({ pointer, detail }) => ({
    pointer: pointer.replace(/^\/([^/]*)/u, '/properties/$1/default'),
    detail: `${detail}, or the field has to allow it`,
  }));
}

function invalid(problems: readonly RequestProblem[]): GatewayError {
  const [first] = problems;
  const place = first?.pointer === '' ? 'the document' : first?.pointer;
  return new GatewayError('form-invalid', `The document is no form: ${place} ${first?.detail}${andMore(problems)}.`, {
    errors: problems,
    logged: 'The document is no form.',
  });
}

function unusableId(): GatewayError {
  return new GatewayError('invalid-request', 'The id of a form must be 1 to 128 characters of A-Z a-z 0-9 . _ - and not . or ..');
}

function notFound(): GatewayError {
  return new GatewayError('form-not-found', 'There is no form with this id.');
}

function notYours(workflowId: string | undefined, reason: string): GatewayError {
  return new GatewayError(
    'forbidden',
    `An automation of the workflow ${JSON.stringify(workflowId)} names this form. Changing it needs the right to write that workflow, and writing it ${reason}.`,
    { logged: 'Changing this form needs the right to write a workflow.' },
  );
}

function inUse(): GatewayError {
  return new GatewayError('form-in-use', 'An automation names this form in data.formId; change or delete the automation first.');
}
