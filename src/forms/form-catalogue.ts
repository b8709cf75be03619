import type { Principal } from '#access/principal.ts';
import { isId } from '#automations/automation-document.ts';
import type { WhyNotWriter } from '#automations/delegation.ts';
import { entityTag, type Preconditions, requireMatch } from '#automations/entity-tag.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import type { SchemaThreads } from '#workflows/schema-threads.ts';
import { readForm } from './form-document.ts';
import type { FormStore, ListedForm, StoredForm } from './form-store.ts';

/** The forms, for principals whose role is checked already. */
export interface FormCatalogue {
  /**
   * Stores a form as it was written. Who runs the automations that name it fills it in, so that the principal needs the right to write the
   * workflow of each (`forbidden`, 403). `form-invalid` (400) has every problem of the document, `invalid-request` (400) those of the id. A stale
   * `If-Match` is `precondition-failed` (412).
   */
  put(given: {
    readonly principal: Principal;
    readonly id: string;
    readonly bytes: Buffer;
    readonly preconditions: Preconditions;
  }): Promise<{ readonly form: StoredForm; readonly isNew: boolean }>;
  find(id: string): Promise<StoredForm | undefined>;
  /** As `find`, but rejects with `form-not-found` (404). */
  read(id: string): Promise<StoredForm>;
  list: FormStore['list'];
  /** `form-in-use` (409): an automation names the form. Also `form-not-found` and `precondition-failed`. */
  remove(request: { readonly principal: Principal; readonly id: string; readonly preconditions: Preconditions }): Promise<void>;
}

export type { ListedForm, StoredForm };

interface FormCatalogueOptions {
  readonly store: FormStore;
  readonly schemas: Pick<SchemaThreads, 'judge'>;
  readonly clock: Clock;
  readonly whyNotWriter: WhyNotWriter;
}

export function createFormCatalogue({ store, schemas, clock, whyNotWriter }: FormCatalogueOptions): FormCatalogue {
  const find = async (id: string): Promise<StoredForm | undefined> => (isId(id) ? await store.read(id) : undefined);
  const refuse = async (principal: Principal, workflows: readonly (string | undefined)[]): Promise<void> => {
    for (const id of new Set(workflows)) {
      const reason = id === undefined ? undefined : await whyNotWriter(principal, id);
      if (reason !== undefined) throw notYours(id, reason);
    }
  };
  return {
    async put({ principal, id, bytes, preconditions }) {
      if (!isId(id)) throw unusableId();
      const reading = readForm(bytes);
      if ('problems' in reading) throw invalid(reading.problems);
      const text = bytes.toString();
      const problems = await defaultProblems(text, { schemas, person: principal.id });
      if (problems.length > 0) throw invalid(problems);
      const { id: writerId, username } = principal;
      const writer = { id: writerId, username };
      const form = { id, text, title: reading.title, lastUpdated: clock.now(), lastModifiedBy: username, writer };
      const { isNew, stored } = await store.put(form, async ({ current, workflows }) => {
        requireMatch(preconditions, current && entityTag(current.text), 'form');
        await refuse(principal, workflows);
      });
      return { form: stored, isNew };
    },
    find,
    async read(id) {
      const form = await find(id);
      if (form === undefined) throw notFound();
      return form;
    },
    list: (page) => store.list(page),
    async remove({ principal, id, preconditions }) {
      if (!isId(id)) throw notFound();
      await store.remove(id, async ({ current, workflows }) => {
        if (current === undefined) throw notFound();
        requireMatch(preconditions, entityTag(current.text), 'form');
        await refuse(principal, workflows);
        if (workflows.length > 0) throw inUse();
      });
    },
  };
}

/** The problems of default values that do not satisfy their own fields. */
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
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more, see errors)` : '';
  const place = first?.pointer === '' ? 'the document' : first?.pointer;
  return new GatewayError('form-invalid', `The document is no form: ${place} ${first?.detail}${more}.`, {
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
