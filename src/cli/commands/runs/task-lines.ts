import { visible, visibleLines } from '#base/text/visible.ts';
import { type Gateway, GatewayError, type PreviewOfTask, type RunTask, type TaskData } from '#client/gateway.ts';
import { exact } from '../../gateway-session.ts';
import { findTask } from '../../lookups/run-lookup.ts';
import { factLines } from '../../texts/facts.ts';
import { errorText, taskPath, turnText } from '../../texts/run-words.ts';

/** What a task got and gave, for `runs show --task`. */
export async function taskAnswer(gateway: Gateway, run: string, wanted: string) {
  const { id } = await findTask(gateway, { run, wanted, isWanted: () => true });
  const path = { id: run, taskId: id };
  const [task, data] = [exact(await gateway.readTask({ path })), exact(await gateway.readTaskData({ path }))];
  return { value: { ...task, data }, lines: [...taskFacts(task), ...decidedLines(task), ...dataLines(data)] };
}

function taskFacts(task: RunTask): readonly string[] {
  return factLines([
    ['task', `${taskPath(task.reference)}${turnText(task)}`],
    ['id', task.id],
    ['label', task.label],
    ['status', task.status],
    ['begin', task.begin],
    ['end', task.end],
    ['request', task.requestId],
    ['error', task.error && errorText(task.error)],
  ]);
}

function dataLines({ truncated = [], noData, ...data }: TaskData): readonly string[] {
  const parts = (['input', 'arguments', 'output'] as const).map((name): readonly [string, string | undefined] => {
    const end = truncated.includes(name) ? ' … (cut)' : '';
    return [name, data[name] && `${data[name]}${end}`];
  });
  return factLines([...parts, ['not kept', noData]]);
}

/** What people decided about a task, with their reasons. */
export function decidedLines({ id, reference, decisions = [] }: RunTask): readonly string[] {
  return decisions.map(({ as, principal, at, reason }) =>
    visible(`${at} ${principal}: ${as} ${id} (${taskPath(reference)}): ${reason}`),
  );
}

interface NamedPreview {
  readonly task: string;
  readonly preview: PreviewOfTask;
}

/** One after the other; a person who may not ask learns why. */
export async function previewsOf(gateway: Gateway, run: string, tasks: readonly RunTask[]): Promise<readonly NamedPreview[]> {
  const previews: NamedPreview[] = [];
  for (const { id, name } of tasks) {
    try {
      previews.push({ task: name, preview: (await gateway.previewTask({ path: { id: run, taskId: id }, body: {} })).value });
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status === undefined) throw error;
      previews.push({ task: name, preview: { kind: 'none', reason: error.message } });
    }
  }
  return previews;
}

export function previewLines({ task, preview }: NamedPreview): readonly string[] {
  const found = preview.rollback === undefined ? [] : [visible(preview.rollback.explanation)];
  if (preview.kind === 'none') return ['', visible(`${task}: no preview: ${preview.reason}`), ...found];
  const { kind, text, explanation = 'nothing' } = preview;
  const shown = visibleLines(text || explanation);
  return ['', visible(`${task}: what the orchestrator says that it would do (${kind}):`), ...shown, ...found];
}
