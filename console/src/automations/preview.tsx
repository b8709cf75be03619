import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AutomationPreview, AutomationWarning } from '#client/gateway.ts';
import { Empty, Panel, Time } from '../parts/basics.tsx';
import { Failure } from '../parts/loading.tsx';
import { gateway } from '../session.ts';
import { seenText } from '../texts.ts';
import { dueText } from './schedule.ts';

/** Milliseconds without a key after which the gateway is asked. */
const pause = 300;

interface Previewed {
  readonly draft: string;
  readonly preview?: AutomationPreview;
  readonly error?: unknown;
}

/** What the gateway says of a draft; of the draft before while it asks. Undefined before the first answer. */
export function usePreview(draft: string | undefined): Previewed | undefined {
  const [previewed, setPreviewed] = useState<Previewed | undefined>(undefined);
  useEffect(() => {
    if (draft === undefined) return undefined;
    const leave = new AbortController();
    const timer = setTimeout(() => {
      gateway.previewAutomation({ rawBody: draft, signal: leave.signal }).then(
        ({ value }) => setPreviewed({ draft, preview: value }),
        (error: unknown) => {
          if (!leave.signal.aborted) setPreviewed({ draft, error });
        },
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      leave.abort();
    };
  }, [draft]);
  return previewed;
}

interface PreviewProps {
  readonly of: Previewed | undefined;
  readonly timeZone: string;
  /** The name before the change: it is not that of another automation. */
  readonly ownName: string | undefined;
  /** Puts the focus on the control of a problem. */
  readonly show: (control: string) => void;
}

/** The next times of a draft, and what is wrong with it, before anything is stored. */
export function Preview({ of, timeZone, ownName, show }: PreviewProps): JSX.Element {
  const { preview, error, draft } = of ?? {};
  const isOwn = ({ pointer }: AutomationWarning): boolean =>
    pointer === '/name' && ownName !== undefined && (JSON.parse(draft ?? '{}') as { name?: string }).name === ownName;
  const errors = preview?.errors.filter((one) => !isOwn(one)) ?? [];
  return (
    <Panel title="What it will do">
      <div role="status">
        {error !== undefined && <Failure error={error} />}
        {preview === undefined && error === undefined && <Empty>The next times show here while you type.</Empty>}
        {preview !== undefined && (
          <>
            <Problems of={errors} title="To be mended" show={show} />
            <Problems of={preview.warnings} title="It could be stored, and would not run" show={show} />
            <Next times={preview.next} timeZone={timeZone} />
          </>
        )}
      </div>
    </Panel>
  );
}

function Next({ times, timeZone }: { readonly times: readonly string[]; readonly timeZone: string }): JSX.Element {
  if (times.length === 0) return <p>It runs when a person runs it.</p>;
  return (
    <>
      <h3>{times.length === 1 ? 'It runs' : 'It runs next'}</h3>
      <ol class="next-times">
        {times.map((at) => (
          <li key={at}>
            {dueText(at, timeZone)}{' '}
            <span class="soft">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

/** Where in the form a problem is: the label of the control, and its name. */
const places: readonly (readonly [pointer: string, label: string, control: string])[] = [
  ['/name', 'Name', 'name'],
  ['/data/description', 'Description', 'description'],
  ['/data/workflowId', 'Workflow', 'workflow'],
  ['/data/workflowVersion', 'Version', 'version'],
  ['/data/formId', 'Form', 'form'],
  ['/data/cron', 'Times', 'times'],
  ['/data/timeZone', 'Time zone', 'timeZone'],
  ['/data/gbac/read', 'Groups that read', 'read'],
  ['/data/gbac/write', 'Groups that write', 'write'],
  ['/data/input', 'Input', 'input'],
  ['/repeatInterval', 'Every', 'count'],
  ['/nextRunAt', 'When it runs', 'kind'],
];

interface ProblemsProps extends Pick<PreviewProps, 'show'> {
  readonly of: readonly AutomationWarning[];
  readonly title: string;
}

function Problems({ of, title, show }: ProblemsProps): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <div class="failure forbidden">
      <p>
        <strong>{title}</strong>
      </p>
      <ul>
        {of.map(({ pointer, detail }) => {
          const place = places.find(([begin]) => pointer === begin || pointer.startsWith(`${begin}/`));
          const control = place === undefined ? '' : pointer.replace(/^\/data\/input\//u, 'input:');
          return (
            <li key={`${pointer}${detail}`}>
              {place !== undefined && (
                <button type="button" class="link" onClick={() => show(control.startsWith('input:') ? control : place[2])}>
                  {place[1]}
                  {control.startsWith('input:') && ` ${seenText(control.slice(6))}`}
                </button>
              )}{' '}
              {seenText(detail)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
