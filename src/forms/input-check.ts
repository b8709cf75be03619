import type { Automation } from '#automations/automation.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { createProblemList } from '#json/forms/problem-list.ts';
import type { SchemaThreads } from '#workflows/schemas/schema-threads.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { FormCatalogue } from './form-catalogue.ts';

type WithForm = Pick<Automation, 'data'>;
type WithInput = Pick<Workflow, 'input'>;

interface GivenInput {
  /** JSON text. */
  readonly input: string;
  /** Who starts or scheduled the run; persons take turns in the threads. */
  readonly person: string;
}

export type InputCheck = ReturnType<typeof createInputCheck>;

/** Default values of a form are for people; the gateway fills in none. */
export function createInputCheck({
  forms,
  schemas,
}: {
  readonly forms: Pick<FormCatalogue, 'find' | 'read'>;
  readonly schemas: Pick<SchemaThreads, 'judge'>;
}) {
  const problemsOf = async (
    name: string,
    schema: string,
    { input: value, person }: GivenInput,
  ): Promise<readonly RequestProblem[]> => {
    const verdict = await schemas.judge({ schema, value, person });
    if ('problems' in verdict) return verdict.problems;
    const { pointer, detail } = verdict.fault;
    return [{ pointer: '', detail: `cannot be judged by ${name}: ${pointer === '' ? '' : `${pointer} `}${detail}` }];
  };
  const formProblems = async (id: string, given: GivenInput): Promise<readonly RequestProblem[]> => {
    const form = await forms.find(id);
    if (form !== undefined) return problemsOf('the form of the automation', form.text, given);
    return [{ pointer: '', detail: 'cannot be judged: data.formId of the automation names a form that does not exist' }];
  };
  return {
    /**
     * The JSON Schema that people fill in, as JSON text: the form, else `input.schema` of the workflow. Undefined: neither, or the workflow
     * names a schema elsewhere. Rejects with `form-not-found`.
     */
    async formOf({ data }: WithForm, workflow: WithInput | undefined): Promise<string | undefined> {
      if (data?.formId === undefined) return workflow?.input.schema?.document;
      return (await forms.read(data.formId)).text;
    },
    /**
     * Every problem of an input, with pointers into it, by the form and by `input.schema` of the workflow. A missing form and a schema that
     * cannot be applied are problems too. Fetches no schema from elsewhere.
     */
    async inputProblems({
      automation: { data },
      workflow,
      ...given
    }: GivenInput & { readonly automation: WithForm; readonly workflow: WithInput }): Promise<readonly RequestProblem[]> {
      const list = createProblemList();
      const ofForm = data?.formId === undefined ? [] : await formProblems(data.formId, given);
      const schema = workflow.input.schema?.document;
      const ofSchema = schema === undefined ? [] : await problemsOf('input.schema of the workflow', schema, given);
      for (const { pointer, detail } of [...ofForm, ...ofSchema]) list.add(pointer, detail);
      return list.problems;
    },
  };
}
