import type { JSX } from 'preact';
import type { AutomationData, ListedForm, ListedWorkflow } from '#client/gateway.ts';
import { useLoad } from '../load.ts';
import { Input, Select } from '../parts/field.tsx';
import { gateway, may } from '../session.ts';

/** The workflow that an automation runs, and the form of its input. */
export type Named = Pick<AutomationData, 'formId' | 'workflowId' | 'workflowVersion'>;

interface WorkflowProps {
  readonly named: Named;
  readonly choose: (named: Named) => void;
}

/** Chooses the workflow, its version and the form. */
export function WorkflowFields({ named, choose }: WorkflowProps): JSX.Element {
  const { value } = useLoad(async (signal) => {
    const [workflows, forms] = await Promise.all([
      may('listWorkflows') ? gateway.listWorkflows({ query: { limit: 1000 }, signal }) : undefined,
      may('listForms') ? gateway.listForms({ query: { limit: 1000 }, signal }) : undefined,
    ]);
    return { workflows: workflows?.value.list, forms: forms?.value.list ?? [] };
  }, []);
  const { workflowId = '', workflowVersion = '', formId = '' } = named;
  const { workflows, forms = [] } = value ?? {};
  const versions = workflows?.find(({ id }) => id === workflowId)?.versions ?? [];
  return (
    <>
      {workflows === undefined ? (
        <Input label="Workflow" name="workflow" value={workflowId} hint="Its id, such as demo.nightly-check." />
      ) : (
        <Select
          label="Workflow"
          name="workflow"
          value={workflowId}
          options={workflowOptions(workflows, workflowId)}
          onChange={(id) => choose({ ...some('workflowId', id), ...some('formId', formId) })}
        />
      )}
      <Select
        label="Version"
        name="version"
        value={workflowVersion}
        hint="The newest release: each run takes the one that is the newest when it starts."
        options={versionOptions(versions, workflowVersion)}
        onChange={(version) => choose({ ...named, ...some('workflowVersion', version) })}
      />
      {(forms.length > 0 || formId !== '') && (
        <Select
          label="Form"
          name="form"
          value={formId}
          hint="Says what the input has to be, in place of the schema of the workflow."
          options={formOptions(forms, formId)}
          onChange={(form) =>
            choose({ ...some('workflowId', workflowId), ...some('workflowVersion', workflowVersion), ...some('formId', form) })
          }
        />
      )}
    </>
  );
}

type Option = readonly [value: string, text: string];

function workflowOptions(list: readonly ListedWorkflow[], chosen: string): readonly Option[] {
  const known = list.map(({ id, title }): Option => [id, title === undefined ? id : `${title} (${id})`]);
  return [['', 'none yet'], ...withChosen(known, chosen, 'does not exist')];
}

function versionOptions(versions: readonly string[], chosen: string): readonly Option[] {
  // A pre-release is never the newest.
  const newest = versions.find((version) => !version.includes('-'));
  const known = versions.map((version): Option => [version, version]);
  return [
    ['', newest === undefined ? 'the newest release' : `the newest release, now ${newest}`],
    ...withChosen(known, chosen, 'does not exist'),
  ];
}

function formOptions(forms: readonly ListedForm[], chosen: string): readonly Option[] {
  return [
    ['', 'none'],
    ...withChosen(
      forms.map(({ id, title }): Option => [id, title ?? id]),
      chosen,
      'does not exist',
    ),
  ];
}

/** What is chosen stays a choice, although it is gone. */
function withChosen(known: readonly Option[], chosen: string, words: string): readonly Option[] {
  const isKnown = chosen === '' || known.some(([value]) => value === chosen);
  return isKnown ? known : [...known, [chosen, `${chosen} (${words})`]];
}

function some<Name extends keyof Named>(name: Name, value: string): Partial<Record<Name, string>> {
  return value === '' ? {} : ({ [name]: value } as Partial<Record<Name, string>>);
}
