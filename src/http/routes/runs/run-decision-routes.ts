import type { RequestProblem } from '#base/gateway-error.ts';
import { Type } from '#base/json-schema.ts';
import { recordOwnChange } from '#calls/record-own-change.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import type { IntendDecision, RunDecision, WholeRun } from '#runs/catalogue/run-requests.ts';
import { maxItems } from '#workflows/workflow.ts';
import { type ApiRoute, type RouteReply, type RouteRequest, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import {
  changedReply,
  exampleRunPath,
  memberText,
  type NotedRecord,
  noteRunOf,
  replyComesAfterIt,
  runChange,
} from './run-changes.ts';
import { exampleRun } from './run-schemas.ts';

/** What people decide about calls whose outcome is unknown, and about runs that are suspended. */
export function runDecisionRoutes(runs: RunCatalogue): readonly ApiRoute[] {
  return [
    resumeRun.serve(async ({ principal, params, body, record, spans }) => {
      const { task, as, reason } = body;
      const asked = { principal, ...params };
      if (task === undefined || as === undefined || reason === undefined) {
        if (reason !== undefined) record.note({ reason });
        return changedReply(record, await runs.resume({ ...asked, reason }));
      }
      const decision = noteDecision({ record, spans, body: { task, as, reason } });
      return await decidedReply(record, (intend) => runs.decide({ ...asked, decision, resumes: true, intend }));
    }),
    decideRun.serve(async ({ principal, params, body, record, spans }) => {
      const { task, items, expected, as, reason } = body;
      const asked = { principal, ...params };
      const decision = noteDecision({ record, spans, body: { task: task ?? '', as, reason } });
      return await decidedReply(record, (intend) =>
        items === undefined
          ? runs.decide({ ...asked, decision, intend })
          : runs.decideItems({ ...asked, decision: { ...decision, task, items, expected }, intend }),
      );
    }),
  ];
}

/** A decision is on record before it counts. */
async function decidedReply(
  record: NotedRecord,
  decide: (intend: IntendDecision) => Promise<WholeRun>,
): Promise<RouteReply<never>> {
  const run = await recordOwnChange(record, (intend) =>
    decide(async (about) => {
      noteRunOf(record, about);
      await intend();
    }),
  );
  return changedReply(record, run);
}

/** The decision, with its reason in the record, also where it is refused. */
function noteDecision({
  record,
  spans,
  body: { task, as, reason },
}: Pick<RouteRequest, 'record' | 'spans'> & {
  readonly body: Pick<RunDecision, 'as' | 'reason' | 'task'>;
}): RunDecision {
  record.note({ reason });
  return { task, as, reason, output: memberText(spans, '/output') };
}

/** All of the members that a decision needs, or at most a reason. */
function missingMembers(body: unknown): readonly RequestProblem[] {
  if (typeof body !== 'object' || body === null || !Object.keys(body).some((name) => name !== 'reason')) return [];
  const missing = (['task', 'as', 'reason'] as const).filter((name) => !(name in body));
  return missing.map((name) => ({
    pointer: `/${name}`,
    detail: 'is missing: a decision needs task, as and reason; to resume without one send at most a reason',
  }));
}

/** What is decided about: a call by its task, or items of a batch. */
function undecidedMembers(body: unknown): readonly RequestProblem[] {
  if (typeof body !== 'object' || body === null) return [];
  const { items, task, expected } = body as { readonly items?: unknown; readonly task?: unknown; readonly expected?: unknown };
  if (items === undefined && task === undefined)
    return [{ pointer: '/task', detail: 'is missing: name the task of the call, or the items of a batch in items' }];
  if (expected !== undefined && items !== 'unknown')
    return [{ pointer: '/expected', detail: 'is only for "items": "unknown"; leave it out' }];
  return [];
}

function needlessOutput(body: unknown): readonly RequestProblem[] {
  const isNeedless = typeof body === 'object' && body !== null && 'output' in body && 'as' in body && body.as !== 'done';
  return isNeedless ? [{ pointer: '/output', detail: 'is only for "as": "done"; leave it out' }] : [];
}

/** Of `resume`: nothing, a reason, or the decision about a call. */
const decisionMembers = {
  task: Type.String({
    minLength: 1,
    description: 'The id of the task, or its reference where only one call of it is undecided.',
  }),
  as: Type.Enum(['done', 'failed', 'again'], {
    description: '`done`: the call happened. `failed`: it did not, and the task fails. `again`: it is made again.',
  }),
  reason: Type.String({ minLength: 1, maxLength: 2_000, description: 'Why it is so.' }),
};
const decidedOutput = Type.Optional(Type.Unknown({ description: 'With `done`: the output of the call, by default null.' }));

const runDecisionSchema = namedObject('RunDecision', {
  ...decisionMembers,
  task: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'The id of the task, or its reference where only one call of it is undecided. With `items`: of the batch, where several have undecided items.',
    }),
  ),
  items: Type.Optional(
    Type.Union([Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1, maxItems }), Type.Literal('unknown')], {
      description:
        'Of a run with a batch: the indices of its undecided items, or all of them. One decision is for all, or for none.',
    }),
  ),
  expected: Type.Optional(
    Type.Integer({ minimum: 1, description: 'With `"items": "unknown"`: how many they are. Otherwise the decision is 409.' }),
  ),
  output: decidedOutput,
});

const resumeSchema = namedObject('RunResumption', {
  task: Type.Optional(decisionMembers.task),
  as: Type.Optional(decisionMembers.as),
  output: decidedOutput,
  reason: Type.Optional(decisionMembers.reason),
});

const decisionExample = {
  path: exampleRunPath,
  request: { task: '1', as: 'done', reason: 'The device has the change: show log, 22:04.' },
  reply: exampleRun,
};

const resumeRun = route('POST /runs/:id/resume', {
  ...runChange,
  operationId: 'resumeRun',
  summary: 'Resume a suspended run, or decide about a call whose outcome is unknown',
  description: `Without a body, or with a \`reason\` alone: for those who may run its automation. A run that is suspended because the outcome of a call is unknown needs a decision instead, as decideRun takes it; who sends it here needs the rights to both. ${replyComesAfterIt}`,
  body: jsonBody(resumeSchema, {
    optional: true,
    opaque: ['/output'],
    judge: (body) => ({ problems: [...missingMembers(body), ...needlessOutput(body)] }),
  }),
  example: decisionExample,
});

const decideRun = route('POST /runs/:id/decide', {
  ...runChange,
  operationId: 'decideRun',
  summary: 'Decide about a call whose outcome is unknown',
  description: `A run is suspended where the outcome of a call is unknown, until somebody says what became of it. A second decision about a call is 409. With \`items\`, one decision is for several items of a batch of the run, and on record for each. ${replyComesAfterIt}`,
  body: jsonBody(runDecisionSchema, {
    opaque: ['/output'],
    judge: (body) => ({ problems: [...undecidedMembers(body), ...needlessOutput(body)] }),
  }),
  example: decisionExample,
});
