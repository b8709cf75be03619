import type { JSX } from 'preact';
import { type Automation, type AutomationPatch, GatewayError } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { type Loaded, useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Facts, Panel, Text, Time } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { type FlatSchema, flatSchema } from '../schema-form.ts';
import { gateway, may } from '../session.ts';
import { indentedJson, memberText } from '../texts.ts';
import { RunNow } from './run-now.tsx';
import { RunTable } from './run-table.tsx';

/** One automation: what it does and when, run it now, its last runs. */
export function AutomationPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(
    async (signal) => {
      const { value, text } = await gateway.readAutomation({ path: { id }, signal });
      return { automation: value, text, schema: may('runAutomation') ? await schemaOf(value, signal) : undefined };
    },
    [id],
  );
  return (
    <Loading of={loaded}>
      {({ automation, text, schema }) => (
        <>
          <h2 class="name">{automation.name}</h2>
          <AutomationFacts automation={automation} />
          <Schedule automation={automation} loaded={loaded} />
          {may('runAutomation') && automation.data?.workflowId !== undefined && (
            <RunNow automation={automation} schema={schema} input={inputText(text)} />
          )}
          <History id={id} />
          <Panel title="Document">
            <Text of={indentedJson(text)} label="The document of the automation" />
          </Panel>
        </>
      )}
    </Loading>
  );
}

/** The schema of the input: the form of the automation, or that of its workflow. Undefined where there is none that a form can show. */
async function schemaOf({ data }: Automation, signal: AbortSignal): Promise<FlatSchema | undefined> {
  try {
    if (data?.formId !== undefined) return flatSchema((await gateway.readForm({ path: { id: data.formId }, signal })).value);
    if (data?.workflowId === undefined) return undefined;
    const { workflowId, workflowVersion: version } = data;
    const named = { path: { id: workflowId }, ...(version !== undefined && { query: { version } }) };
    const { value } = await gateway.readWorkflow({ ...named, headers: { Accept: 'application/json' }, signal });
    const { input } = value as { readonly input?: { readonly schema?: { readonly document?: unknown } } };
    return flatSchema(input?.schema?.document);
  } catch (error) {
    // The input can still be typed as JSON.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** `data.input` with the digits of its numbers. */
function inputText(text: string): string {
  return memberText(memberText(text, 'data') ?? '{}', 'input') ?? '{}';
}

function AutomationFacts({ automation }: { readonly automation: Automation }): JSX.Element {
  const { data = {}, lastModifiedBy, lastRunAt } = automation;
  const groups = (list: readonly string[] = []): string => list.join(', ');
  return (
    <Facts
      of={[
        ['Description', data.description],
        [
          'Workflow',
          data.workflowId === undefined ? 'none' : <a href={hrefOf(['workflows', data.workflowId])}>{data.workflowId}</a>,
        ],
        ['Version', versionOf(data)],
        ['Owner', data.owner ?? 'not known: it does not run until somebody takes it'],
        ['Form', data.formId],
        ['Last scheduled run', <Time at={lastRunAt} />],
        ['Readable by', groups(data.gbac?.read) || undefined],
        ['Run by', groups(data.gbac?.write) || undefined],
        [
          'Last change',
          <>
            {lastModifiedBy} <Time at={data.lastUpdated} />
          </>,
        ],
      ]}
    />
  );
}

function versionOf({ workflowId, workflowVersion = 'the newest release' }: NonNullable<Automation['data']>): string | undefined {
  return workflowId === undefined ? undefined : workflowVersion;
}

interface ScheduleProps {
  readonly automation: Automation;
  readonly loaded: Loaded<unknown>;
}

function Schedule({ automation, loaded }: ScheduleProps): JSX.Element {
  const { data, nextRunAt, lastSkip } = automation;
  const rule = ruleOf(automation);
  if (rule === undefined && nextRunAt === undefined) {
    return (
      <Panel title="Schedule">
        <Empty>No schedule: it runs when somebody runs it.</Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Schedule">
      <Facts
        of={[
          ['Rule', rule === undefined ? 'once' : `${rule}, ${data?.timeZone ?? 'UTC'}`],
          ['Next due', nextRunAt === undefined ? 'paused' : <Time at={nextRunAt} />],
          ['Scheduled by', data?.scheduledBy],
          [
            'Last skipped',
            lastSkip && (
              <>
                <Time at={lastSkip.due} /> <code>{lastSkip.code}</code> {lastSkip.reason}
              </>
            ),
          ],
        ]}
      />
      {may('runAutomation') && <Pause automation={automation} loaded={loaded} />}
    </Panel>
  );
}

function ruleOf({ data, repeatInterval }: Automation): string | undefined {
  if (data?.cron !== undefined) return `cron ${data.cron}`;
  return repeatInterval === undefined ? undefined : `every ${repeatInterval}`;
}

/** Who may run it may pause and resume it. */
function Pause({ automation: { _id: id, nextRunAt }, loaded }: ScheduleProps): JSX.Element {
  const patch = async (body: AutomationPatch): Promise<void> => {
    await change('patchAutomation', { path: { id }, body });
    loaded.again();
  };
  return (
    <div class="buttons">
      {nextRunAt === undefined ? (
        <Action act={() => patch({ nextRunAt: 'next' })}>Resume</Action>
      ) : (
        <Action act={() => patch({ nextRunAt: null })} confirm="Pause the schedule? Nothing is due until somebody resumes it.">
          Pause
        </Action>
      )}
    </div>
  );
}

function History({ id }: { readonly id: string }): JSX.Element {
  const runs = useLoad(async (signal) => (await gateway.listRuns({ query: { automation: id, limit: 20 }, signal })).value, [id]);
  return (
    <Panel title="Last runs" aside={<a href={hrefOf(['runs'], { automation: id })}>All runs</a>}>
      <Loading of={runs}>
        {({ list }) =>
          list.length === 0 ? <Empty>It has not run yet.</Empty> : <RunTable runs={list} label="Runs of this automation" />
        }
      </Loading>
    </Panel>
  );
}
