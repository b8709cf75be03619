import type { Automation } from '#automations/automation.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { createProblemList } from '#json/problem-list.ts';
import type { SchemaThreads } from '#workflows/schema-threads.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { FormCatalogue } from './form-catalogue.ts';

/** What the input of an automation has to be. Default values of a form are for who fills it in; the gateway fills in none. */
export interface InputCheck {
  /**
   * The JSON Schema that people fill in for an automation, as JSON text: its form, or without one `input.schema` of its workflow. Undefined
   * where it has neither, or where the workflow names a schema elsewhere. Rejects with `form-not-found` where `data.formId` names no form.
   */
  formOf(automation: Pick<Automation, 'data'>, workflow: Pick<Workflow, 'input'> | undefined): Promise<string | undefined>;
  /**
   * Every problem of an input that has to satisfy both schemas, with pointers into the input. A schema that cannot be applied is a problem
   * too, since no input satisfies it.
   */
  inputProblems(given: GivenInput): Promise<readonly RequestProblem[]>;
}

/** JSON texts. */
interface GivenInput {
  readonly form: string | undefined;
  /** `input.schema` of the workflow. */
  readonly schema: string | undefined;
  readonly input: string;
}

interface InputCheckOptions {
  readonly forms: Pick<FormCatalogue, 'read'>;
  readonly schemas: Pick<SchemaThreads, 'judge'>;
}

export function createInputCheck({ forms, schemas }: InputCheckOptions): InputCheck {
  return {
    async formOf({ data }, workflow) {
      if (data?.formId === undefined) return workflow?.input.schema?.document;
      return (await forms.read(data.formId)).text;
    },
    async inputProblems({ form, schema, input }) {
      const list = createProblemList();
      const named = [
        ['the form of the automation', form],
        // Without a form it is the form.
        ['input.schema of the workflow', schema === form ? undefined : schema],
      ] as const;
      for (const [name, text] of named) {
        if (text === undefined) continue;
        const verdict = await schemas.judge({ schema: text, value: input });
        if ('problems' in verdict) for (const { pointer, detail } of verdict.problems) list.add(pointer, detail);
        else
          list.add('', `cannot be judged by ${name}: ${verdict.fault.pointer} ${verdict.fault.detail}`.replace(/: {2,}/u, ': '));
      }
      return list.problems;
    },
  };
}
