import type { JSX } from 'preact';
import type { Automation, AutomationPatch } from '#client/gateway.ts';
import { goTo, hrefOf, place } from '../address.ts';
import { schemaOf } from '../automations/automation-schema.ts';
import { mayChange, mayRun } from '../automations/rights.ts';
import { dueText, isPaused, scheduleKind, scheduleWords } from '../automations/schedule.ts';
import { change } from '../change.ts';
import { draftOf } from '../drafts.ts';
import { Subject } from '../frame/subject.ts';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Facts, Panel, Time } from '../parts/basics.tsx';
import { Icon } from '../parts/icon.tsx';
import { Later } from '../parts/later.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Status } from '../parts/status.tsx';
import { Tabs } from '../parts/tabs.tsx';
import type { FlatSchema } from '../schema-form.ts';
import { gateway, may, principal } from '../session.ts';
import { inputText, seenText } from '../texts.ts';
import { RunNow } from './run-now.tsx';
import { RunTable } from './run-table.tsx';

/** One automation as it was read. */
interface Found {
  readonly automation: Automation;
  readonly text: string;
  readonly etag: string;
  readonly schema: FlatSchema | undefined;
}

/** One automation: what it does and when, run it now, change it, its last runs, and its history. */
export function AutomationPage({ id }: { readonly id: string }): JSX.Element {
  const view = place.value.query.get('view') ?? '';
  const loaded = useLoad(
    async (signal): Promise<Found> => {
      const { value, text, headers } = await gateway.readAutomation({ path: { id }, signal });
      const schema = mayRun(value) ? await schemaOf(value.data ?? {}, signal) : undefined;
      return { automation: value, text, etag: headers.get('etag') ?? '', schema };
    },
    [id, view],
  );
  return (
    <Loading of={loaded}>
      {(found) => (
        <>
          <Subject title={found.automation.name} id={found.automation._id} />
          <Tabs
            label="Views of the automation"
            of={[
              ['', 'Overview'],
              ...(mayChange(found.automation) ? [['edit', editTitle(id)] as const] : []),
              ['history', 'History'],
            ]}
          />
          <View view={view} found={found} again={loaded.again} />
        </>
      )}
    </Loading>
  );
}

/** What the draft of a form belongs to. */
function draftPage(id: string): string {
  return `automation ${id}`;
}

function editTitle(id: string): string {
  return draftOf(draftPage(id)) === undefined ? 'Edit' : 'Edit (not saved yet)';
}

interface ViewProps {
  readonly found: Found;
  readonly again: () => void;
}

function View({ view, found, again }: ViewProps & { readonly view: string }): JSX.Element {
  const { automation, text, etag } = found;
  if (view === 'edit') {
    if (!mayChange(automation)) return <NeededRight {...changing(automation)} />;
    const load = async (): Promise<() => JSX.Element> => {
      const { AutomationForm } = await import('../automations/automation-form.tsx');
      const stored = { id: automation._id, etag, text };
      return () => <AutomationForm page={draftPage(stored.id)} stored={stored} />;
    };
    return <Later name={etag} load={load} />;
  }
  if (view === 'history') {
    const load = async (): Promise<() => JSX.Element> => {
      const { AutomationHistory } = await import('../automations/history.tsx');
      return () => <AutomationHistory automation={automation} etag={etag} mayChange={mayChange(automation)} />;
    };
    return <Later name={etag} load={load} />;
  }
  return <Overview found={found} again={again} />;
}

function changing({ data }: Automation) {
  return { of: 'replaceAutomation', to: 'change this automation', groups: data?.gbac?.write ?? [] } as const;
}

function Overview({ found, again }: ViewProps): JSX.Element {
  const { automation, text, schema } = found;
  const isRunnable = mayRun(automation);
  return (
    <>
      <Acts automation={automation} again={again} />
      <AutomationFacts automation={automation} />
      <Schedule automation={automation} again={again} />
      {isRunnable && automation.data?.workflowId !== undefined && (
        <RunNow automation={automation} schema={schema} input={inputText(text)} />
      )}
      {!isRunnable && (
        <NeededRight
          of="runAutomation"
          to="run this automation"
          roles={['engineering']}
          groups={automation.data?.gbac?.write ?? []}
        />
      )}
      <LastRuns id={automation._id} name={automation.name} />
    </>
  );
}

interface PartProps {
  readonly automation: Automation;
  readonly again: () => void;
}

function Acts({ automation, again }: PartProps): JSX.Element {
  const { _id: id, name } = automation;
  if (!mayChange(automation)) return <NeededRight {...changing(automation)} />;
  return (
    <div class="buttons">
      <a class="button" href={hrefOf(['automations', id], { view: 'edit' })}>
        <Icon of="edit" /> Edit
      </a>
      {may('createAutomation') && (
        <a class="button" href={hrefOf(['automations', 'new'], { from: id })}>
          <Icon of="copy" /> Copy
        </a>
      )}
      {may('takeAutomation') && !isOwn(automation) && (
        <Action
          act={async () => {
            await change('takeAutomation', { path: { id } });
            again();
          }}
          confirm="Take it over? You answer for all that it says and for its schedule: it then runs with your rights. It stays as it is."
        >
          <Icon of="person" /> Take over
        </Action>
      )}
      {may('deleteAutomation') && (
        <Action
          tone="danger"
          act={async () => {
            await change('deleteAutomation', { path: { id } });
            goTo(hrefOf(['automations']));
          }}
          confirm={`Delete ${seenText(name)}? Its runs stay on record.`}
        >
          <Icon of="delete" /> Delete
        </Action>
      )}
    </div>
  );
}

/** True where the caller answers for all of it already. Two principals may have one name: the gateway decides. */
function isOwn({ data, ...schedule }: Automation): boolean {
  const caller = principal.value;
  if (typeof caller === 'string') return false;
  const isScheduler = scheduleKind({ ...schedule, ...(data && { data }) }) === 'none' || data?.scheduledBy === caller.username;
  return data?.owner === caller.username && isScheduler;
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
          data.workflowId === undefined ? (
            'none'
          ) : (
            <a href={hrefOf(['workflows', data.workflowId])}>{seenText(data.workflowId)}</a>
          ),
        ],
        ['Version', versionOf(data)],
        ['Owner', data.owner ?? 'not known: it does not run until a person takes it over'],
        ['Form', data.formId],
        ['Last scheduled run', <Time at={lastRunAt} />],
        ['Read by', groups(data.gbac?.read) || undefined],
        ['Changed and run by', groups(data.gbac?.write) || undefined],
        [
          'Last change',
          <>
            {seenText(lastModifiedBy ?? '')} <Time at={data.lastUpdated} />
          </>,
        ],
      ]}
    />
  );
}

function versionOf({ workflowId, workflowVersion = 'the newest release' }: NonNullable<Automation['data']>): string | undefined {
  return workflowId === undefined ? undefined : workflowVersion;
}

function Schedule({ automation, again }: PartProps): JSX.Element {
  const { data, nextRunAt, lastSkip } = automation;
  if (scheduleKind(automation) === 'none') {
    return (
      <Panel title="Schedule">
        <Empty>No schedule: it runs when a person runs it.</Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Schedule">
      <Facts
        of={[
          ['Rule', scheduleWords(automation)],
          ['Next due', <NextDue automation={automation} />],
          ['In its zone', nextRunAt === undefined ? undefined : dueText(nextRunAt, data?.timeZone ?? 'UTC')],
          ['Scheduled by', data?.scheduledBy],
          [
            'Last skipped',
            lastSkip && (
              <>
                <Time at={lastSkip.due} /> <Status of="failed" label={lastSkip.code} /> {lastSkip.reason}
              </>
            ),
          ],
        ]}
      />
      {mayRun(automation) && <Pause automation={automation} again={again} />}
    </Panel>
  );
}

/** When an automation is due, or that a person paused it. */
export function NextDue({ automation }: { readonly automation: Automation }): JSX.Element {
  return isPaused(automation) ? <Status of="paused" /> : <Time at={automation.nextRunAt} />;
}

/** Who may run it may pause and resume it. */
function Pause({ automation, again }: PartProps): JSX.Element {
  const { _id: id } = automation;
  const patch = async (body: AutomationPatch): Promise<void> => {
    await change('patchAutomation', { path: { id }, body });
    again();
  };
  return (
    <div class="buttons">
      {isPaused(automation) ? (
        <Action act={() => patch({ nextRunAt: 'next' })}>
          <Icon of="play" /> Resume
        </Action>
      ) : (
        <Action act={() => patch({ nextRunAt: null })} confirm={pauseQuestion(automation)}>
          <Icon of="pause" /> {scheduleKind(automation) === 'once' ? 'Remove the due time' : 'Pause'}
        </Action>
      )}
    </div>
  );
}

function pauseQuestion(automation: Automation): string {
  return scheduleKind(automation) === 'once'
    ? 'Remove the due time? It then runs when a person runs it.'
    : 'Pause the schedule? Nothing is due until a person resumes it.';
}

function LastRuns({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  const runs = useLoad(async (signal) => (await gateway.listRuns({ query: { automation: id, limit: 20 }, signal })).value, [id]);
  return (
    <Panel title="Last runs" aside={<a href={hrefOf(['runs'], { automation: name })}>All runs</a>}>
      <Loading of={runs}>
        {({ list }) =>
          list.length === 0 ? <Empty>It has not run yet.</Empty> : <RunTable runs={list} label="Runs of this automation" />
        }
      </Loading>
    </Panel>
  );
}
