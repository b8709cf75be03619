import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { durationText, type RunCall, type RunTask } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { useLoad } from '../load.ts';
import { Empty, Facts, Time } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';
import { countText, seenText } from '../texts.ts';
import { SentBody } from './sent-body.tsx';

interface TaskCallsProps {
  readonly run: string;
  readonly task: RunTask;
}

/** The calls of a task, asked for once a person opens them. */
export function TaskCalls({ run, task }: TaskCallsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="calls" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={`Calls of ${task.name}`}>Calls</summary>
      {isOpen && <Calls run={run} task={task} />}
    </details>
  );
}

/** Milliseconds and number of the further tries, because a query is recorded within a second after its end. */
const nextTry = 700;
const tries = 4;

/** The calls of a task as they are on record. */
export function Calls({ run, task: { id, status, requestId, attempt } }: TaskCallsProps): JSX.Element {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [tried, setTried] = useState(0);
  const loaded = useLoad(
    async (signal) => {
      const list: RunCall[] = [];
      let cursor: string | undefined;
      for (const page of [undefined, ...cursors]) {
        const query = { task: id, ...(page !== undefined && { cursor: page }) };
        const { value } = await gateway.listRunCalls({ path: { id: run }, query, signal });
        list.push(...value.list);
        cursor = value.cursor;
      }
      return { list, cursor };
    },
    [run, id, cursors.at(-1) ?? ''],
    `${status} ${requestId ?? ''}`,
  );
  const { value, again } = loaded;
  const isMissing =
    value !== undefined && value.cursor === undefined && requestId !== undefined && !value.list.some(isCall(requestId));
  useEffect(() => {
    if (!isMissing || tried >= tries) return undefined;
    const timer = setTimeout(() => {
      setTried(tried + 1);
      again();
    }, nextTry);
    return () => clearTimeout(timer);
  }, [isMissing, tried, again]);
  return (
    <Loading of={loaded}>
      {({ list, cursor }) => (
        <>
          {list.map((call) => (
            <Call key={call.id} call={call} attempt={attempt} />
          ))}
          {list.length === 0 && cursor === undefined && (
            <Empty>{isMissing && tried < tries ? 'The call is not on record yet.' : 'No call of this task is on record.'}</Empty>
          )}
          {cursor !== undefined && (
            <button
              type="button"
              onClick={() => {
                setCursors([...cursors, cursor]);
              }}
            >
              Look further in the audit log
            </button>
          )}
        </>
      )}
    </Loading>
  );
}

function isCall(requestId: string): (call: RunCall) => boolean {
  return (call) => call.requestId === requestId || call.replays === requestId;
}

/** One call as it is on record: the request, and what came of it. */
function Call({ call, attempt }: { readonly call: RunCall; readonly attempt: number }): JSX.Element {
  const { verb, adapter, address, redirects, approval, outcome, count } = call;
  return (
    <div class="call">
      <p>
        {outcome === undefined ? <Status of="running" label="in flight" /> : <Status of={outcome} />}{' '}
        <code>{seenText(`${verb} ${address}`)}</code>
        {count !== undefined && ` ${countText(count, 'time')}`}
      </p>
      <Facts
        of={[
          ['Adapter', adapter ?? 'none: an address'],
          ['Operation', call.route?.replace(/^run /u, '')],
          ['Recorded', <Time at={call.time} />],
          ['Attempt of the task', attempt],
          ['Attempts at the upstream', call.attempts],
          ['Redirected to', redirects === undefined ? undefined : redirects.join(', ')],
          ['Upstream answered', call.upstreamStatus],
          ['Result', resultText(call)],
          ['Took', call.durationMs === undefined ? undefined : durationText(call.durationMs)],
          ['Request body', bytesText(call.bytesSent)],
          ['Reply body', bytesText(call.bytesReceived)],
          ['Reply of', call.replays === undefined ? undefined : <code>{call.replays}</code>],
          ['Approval', approval === undefined ? undefined : <a href={hrefOf(['approvals', approval])}>the exact request</a>],
          ['Request id', call.requestId === undefined ? undefined : <code>{call.requestId}</code>],
        ]}
      />
      {call.detail !== undefined && <p>{seenText(call.detail)}</p>}
      {verb !== 'GET' && <SentBody record={call.id} />}
    </div>
  );
}

function bytesText(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : `${bytes.toLocaleString('en')} bytes`;
}

function resultText({ status, code }: RunCall): string | undefined {
  const parts = [status, code].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(' ');
}
