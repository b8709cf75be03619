import type { Automation } from '#automations/automation.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { createProblemList } from '#json/problem-list.ts';
import type { SchemaThreads } from '#workflows/schema-threads.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { FormCatalogue } from './form-catalogue.ts';

type WithForm = Pick<Automation, 'data'>;
type WithInput = Pick<Workflow, 'input'>;

/** What the input of an automation has to be. Default values of a form are for who fills it in; the gateway fills in none. */
export interface InputCheck {
  /**
   * The JSON Schema that people fill in for an automation, as JSON text: its form, or without one `input.schema` of its workflow. Undefined
   * where it has neither, or where the workflow names a schema elsewhere. Rejects with `form-not-found` where `data.formId` names no form.
   */
  formOf(automation: WithForm, workflow: WithInput | undefined): Promise<string | undefined>;
  /**
   * Every problem of an input, a JSON text, with pointers into it. The input has to satisfy the form and `input.schema` of the workflow. A
   * form that does not exist, or a schema that cannot be applied, is a problem too, since no input satisfies it. A schema elsewhere is not
   * fetched here.
   */
  inputProblems(given: {
    readonly automation: WithForm;
    readonly workflow: WithInput;
    readonly input: string;
    /** Whose turn it is in the threads: the id of who starts or scheduled the run. */
    readonly person: string;
  }): Promise<readonly RequestProblem[]>;
}

interface Asked {
  readonly input: string;
  readonly person: string;
}

interface InputCheckOptions {
  readonly forms: Pick<FormCatalogue, 'find' | 'read'>;
  readonly schemas: Pick<SchemaThreads, 'judge'>;
}

export function createInputCheck({ forms, schemas }: InputCheckOptions): InputCheck {
  const problemsOf = async (
    name: string,
    schema: string,
    { input: value, person }: Asked,
  ): Promise<readonly RequestProblem[]> => {
    const verdict = await schemas.judge({ schema, value, person });
    if ('problems' in verdict) return verdict.problems;
    const { pointer, detail } = verdict.fault;
    return [{ pointer: '', detail: `cannot be judged by ${name}: ${pointer === '' ? '' : `${pointer} `}${detail}` }];
  };
  const formProblems = async (id: string, asked: Asked): Promise<readonly RequestProblem[]> => {
    const form = await forms.find(id);
    if (form !== undefined) return problemsOf('the form of the automation', form.text, asked);
    return [{ pointer: '', detail: 'cannot be judged: data.formId of the automation names a form that does not exist' }];
  };
  return {
    async formOf({ data }, workflow) {
      if (data?.formId === undefined) return workflow?.input.schema?.document;
      return (await forms.read(data.formId)).text;
    },
    async inputProblems({ automation: { data }, workflow, ...asked }) {
      const list = createProblemList();
      const ofForm = data?.formId === undefined ? [] : await formProblems(data.formId, asked);
      const schema = workflow.input.schema?.document;
      const ofSchema = schema === undefined ? [] : await problemsOf('input.schema of the workflow', schema, asked);
      for (const { pointer, detail } of [...ofForm, ...ofSchema]) list.add(pointer, detail);
      return list.problems;
    },
  };
}
