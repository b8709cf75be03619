import { Type } from '#base/json-schema.ts';
import { decideEntry } from '#calls/decide-entry.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import type { LastRun } from '#runs/catalogue/run-listing.ts';
import { textArgument } from '../agent-call.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import { type AgentTool, agentTool, permit } from '../agent-tool.ts';
import { onRecord } from '../call-entrance.ts';
import { maxPage } from '../fence.ts';
import { objectOfOthers, objectResult } from '../tool-result.ts';
import { cursorArgument } from './query-tool.ts';

const text = Type.String();
const listOf = (members: Parameters<typeof Type.Object>[0]) => Type.Array(Type.Object(members));

export function adaptersTool(needs: AgentNeeds): AgentTool {
  return agentTool({
    name: 'list_adapters',
    effect: 'reads',
    operations: ['listAdapters'],
    leaves: false,
    description: 'List the orchestrators (adapter instances) with their state.',
    takes: {},
    answers: Type.Object({ list: listOf({ name: text, kind: text, state: text }) }),
    call: (_given, request) =>
      onRecord('listAdapters', request, { ...needs, isRecorded: false }, async () => {
        const { principal } = request;
        permit('listAdapters', request, needs);
        needs.rateLimit()?.count(principal);
        const list = needs.adapters().all();
        return objectResult({
          list: list.map(({ name, kind, standing }) => ({ name, kind: kind.name, state: standing().state })),
        });
      }),
  });
}

const usual = 20;
/** Characters. */
const maxDescription = 200;

export function automationsTool(needs: AgentNeeds): AgentTool {
  return agentTool({
    name: 'list_automations',
    effect: 'reads',
    operations: ['listAutomations'],
    leaves: false,
    description: 'List automations by name, each with its last run. run_automation takes the id.',
    takes: {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: `Default ${usual}.` })),
      ...cursorArgument,
    },
    answers: Type.Object({
      list: listOf({
        id: text,
        name: text,
        workflow: Type.Optional(text),
        nextRunAt: Type.Optional(text),
        lastRun: Type.Optional(Type.Object({ id: text, status: text, endedAt: Type.Optional(text) })),
      }),
      total: Type.Integer(),
      cursor: Type.Optional(text),
    }),
    call: (given, request) =>
      onRecord('listAutomations', request, { ...needs, isRecorded: false }, async () => {
        const { principal } = request;
        permit('listAutomations', request, needs);
        needs.rateLimit()?.count(principal);
        const skip = skipIn(textArgument(given, 'cursor'));
        const limit = (given.values['limit'] as number | undefined) ?? usual;
        const options = { limit, skip, sort: 'name', order: 1, filters: [] } as const;
        const found = await needs.automations.list({ principal, options });
        const documents = found.list.map((one) => JSON.parse(one) as Listed);
        const seesRuns = decideEntry({
          principal,
          operation: 'listRuns',
          entrance: 'mcp',
          customRoles: needs.customRoles(),
        }).allowed;
        const runs = seesRuns
          ? await needs.runs.lastRuns(
              documents.map(({ _id }) => _id),
              1,
            )
          : new Map<string, readonly LastRun[]>();
        const listed = documents.map((one) => listedAutomation(one, runs.get(one._id)?.[0]));
        const described = listed.map((one, at) => ({ ...one, description: descriptionOf(documents[at]) }));
        const count = countOfFitting(described);
        const next = skip + count;
        const cursor = count > 0 && next < found.total ? { cursor: String(next) } : {};
        const rest = { total: found.total, ...cursor };
        const list = listed.slice(0, count);
        return objectOfOthers({ list, ...rest }, { described: { list: described.slice(0, count), ...rest } });
      }),
  });
}

interface Listed {
  readonly _id: string;
  readonly name: string;
  readonly nextRunAt?: string;
  readonly data?: { readonly description?: string; readonly workflowId?: string };
}

function listedAutomation({ _id: id, name, nextRunAt, data = {} }: Listed, lastRun: LastRun | undefined) {
  const endedAt = lastRun?.endedAt === undefined ? undefined : new Date(lastRun.endedAt).toISOString();
  return {
    id,
    name,
    workflow: data.workflowId,
    nextRunAt,
    lastRun: lastRun && { id: lastRun.id, status: lastRun.status, endedAt },
  };
}

function descriptionOf(one: Listed | undefined): string | undefined {
  return one?.data?.description?.slice(0, maxDescription).toWellFormed();
}

/** How many of them fit into one result; at least one. */
function countOfFitting(shown: readonly object[]): number {
  let bytes = 0;
  const over = shown.findIndex((one) => {
    bytes += Buffer.byteLength(JSON.stringify(one)) + 1;
    return bytes > maxPage;
  });
  return over < 0 ? shown.length : Math.max(1, over);
}

function skipIn(cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,9}$/u.test(cursor)) return Number(cursor);
  throw invalidRequest([
    { pointer: 'cursor', detail: 'is no cursor of this tool; copy it from the last result, or leave it out' },
  ]);
}
