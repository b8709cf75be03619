import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RunTask, TaskData } from '#client/gateway.ts';
import { useLoad } from '../load.ts';
import { Empty, Text } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { gateway } from '../session.ts';
import { indentedJson } from '../texts.ts';

interface TaskDataProps {
  readonly run: string;
  readonly task: RunTask;
}

/** What a task got and gave, asked for once a person opens it. */
export function TaskDataPart({ run, task }: TaskDataProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="calls" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={`Data of ${task.name}`}>Data</summary>
      {isOpen && <Data run={run} task={task} />}
    </details>
  );
}

const parts = [
  ['input', 'Input'],
  ['arguments', 'Arguments'],
  ['output', 'Output'],
] as const;

const missing: Readonly<Record<NonNullable<TaskData['noData']>, string>> = {
  off: 'The workflow or the configuration keeps no data of tasks.',
  limit: 'The run has more data than the gateway keeps.',
  removed: 'The data made room for newer runs.',
};

function Data({ run, task: { id, status } }: TaskDataProps): JSX.Element {
  const loaded = useLoad(
    async (signal) => (await gateway.readTaskData({ path: { id: run, taskId: id }, signal })).value,
    [run, id],
    status,
  );
  return (
    <Loading of={loaded}>
      {(data) => (
        <>
          {parts.map(([part, title]) => {
            const text = data[part];
            if (text === undefined) return null;
            const isCut = data.truncated?.includes(part) === true;
            return (
              <div key={part}>
                <h3>{title}</h3>
                <Text of={isCut ? text : indentedJson(text)} label={`${title} of the task`} />
                {isCut && <p class="note">The gateway keeps the first 64 KiB.</p>}
              </div>
            );
          })}
          {data.noData !== undefined && <p class="note">{missing[data.noData]}</p>}
          {data.noData === undefined && parts.every(([part]) => data[part] === undefined) && <Empty>None.</Empty>}
        </>
      )}
    </Loading>
  );
}
