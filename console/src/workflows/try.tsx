import type { JSX } from 'preact';
import type { Automation } from '#client/gateway.ts';
import { goTo, hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { useLoad } from '../load.ts';
import { useSending } from '../parts/action.tsx';
import { Select, textOf } from '../parts/field.tsx';
import { InputForm, inputOf } from '../parts/input-form.tsx';
import { Failure } from '../parts/loading.tsx';
import { flatSchema } from '../schema-form.ts';
import { gateway, may } from '../session.ts';
import { storeTrial } from './trial.ts';

interface TryItProps {
  readonly text: string;
  /** The text as JSON, where it can be read. */
  readonly document: unknown;
}

interface WrittenDocument {
  readonly document?: { readonly namespace?: unknown; readonly name?: unknown; readonly version?: unknown };
  readonly input?: { readonly schema?: { readonly document?: unknown } };
}

/** Stores the text as a version for development, and runs it once: no schedule runs such a version. */
export function TryIt({ text, document }: TryItProps): JSX.Element {
  const written = (document ?? {}) as WrittenDocument;
  const { namespace, name, version } = written.document ?? {};
  const given = written.input?.schema?.document;
  const schema = flatSchema(given);
  const id = `${String(namespace)}.${String(name)}`;
  const { value: automations = [] } = useLoad((signal) => automationsOf(id, signal), [id]);
  const { isBusy, error, submit } = useSending(async (form) => {
    const input = inputOf(form, schema);
    const chosen = textOf(form, 'automation') || automations[0]?._id;
    const trial = await storeTrial(text, id, String(version));
    const automation = chosen ?? (await madeFor(id));
    const rawBody = `{"input":${input},"version":${JSON.stringify(trial)}}`;
    const { value } = await change('runAutomation', { path: { id: automation }, rawBody });
    goTo(hrefOf(['runs', value.id]));
  });
  return (
    <details class="try">
      <summary>Try it</summary>
      <form aria-label="Try it" onSubmit={submit}>
        <p class="note">
          The gateway stores the text as a version for development, such as 1.0.1-dev.1, and runs it once. Its calls are real.
          {automations.length === 0 &&
            may('createAutomation') &&
            ` It makes an automation called ${id}, since none runs this workflow.`}
        </p>
        {automations.length > 1 && (
          <Select
            label="By the automation"
            name="automation"
            options={automations.map(({ _id, name }) => [_id, name] as const)}
          />
        )}
        <InputForm key={JSON.stringify(given)} schema={schema} input="{}" />
        <button type="submit" aria-disabled={isBusy}>
          {isBusy ? 'Starting…' : 'Try this text'}
        </button>
        {error !== undefined && <Failure error={error} />}
      </form>
    </details>
  );
}

async function automationsOf(id: string, signal: AbortSignal): Promise<readonly Automation[]> {
  if (!may('listAutomations')) return [];
  const query = { equals: id, equalsField: 'data.workflowId', limit: 100 } as const;
  const { list } = (await gateway.listAutomations({ query, signal })).value;
  // The filter ignores case.
  return list.filter(({ data }) => data?.workflowId === id);
}

async function madeFor(id: string): Promise<string> {
  return (await change('createAutomation', { body: { name: id, data: { workflowId: id } } })).value._id;
}
