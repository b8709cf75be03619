import { compactJson } from '#json/compact-json.ts';
import type { WholeRun } from '#runs/catalogue/run-requests.ts';
import { type RouteReply, type RouteRequest, rawJson } from '../../route.ts';
import { catalogueChange } from '../route-traits.ts';
import { exampleRun, runParams, runSchema } from './run-schemas.ts';
import { runText } from './run-texts.ts';

export type NotedRecord = RouteRequest['record'];

/** For the audit log. */
export function noteRunOf(record: NotedRecord, { id, automation }: Pick<WholeRun, 'automation' | 'id'>): void {
  record.note({ run: id, ...(automation && { automation: { _id: automation.id, name: automation.name } }) });
}

export function changedReply(record: NotedRecord, run: WholeRun): RouteReply<never> {
  noteRunOf(record, run);
  return rawJson(200, runText(run));
}

/** The member as the caller wrote it. */
export function memberText(spans: RouteRequest['spans'], pointer: string): string | undefined {
  const bytes = spans.get(pointer);
  return bytes && compactJson(bytes);
}

export const replyComesAfterIt =
  'The reply comes once the run has taken the change, or after 5 seconds with the run as it is then; it takes the change later.';

export const runChangeErrors = ['forbidden', 'run-not-found', 'run-conflict', 'newer-version-needed'] as const;
export const exampleRunPath = { id: exampleRun.id };
export const runChange = {
  ...catalogueChange,
  tag: 'runs',
  params: runParams,
  reply: { description: 'The run after the change.', schema: runSchema },
  errors: runChangeErrors,
} as const;
