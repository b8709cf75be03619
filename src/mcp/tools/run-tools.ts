import { Type } from '#base/json-schema.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { textArgument } from '../agent-call.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import type { ToolRequest } from '../agent-request.ts';
import { type AgentTool, agentTool, permit, readOnlyRefusal } from '../agent-tool.ts';
import { onRecord } from '../call-entrance.ts';
import { cursorIn } from '../fence.ts';
import { runObject, runResult, waitingApprovals } from '../tasks/run-result.ts';
import { runTask } from '../tasks/run-tasks.ts';
import { TaskCreated } from '../tasks/task-created.ts';
import { exactObject, type ToolArguments } from '../tool-arguments.ts';
import { objectOfOthers, objectResult, type ToolResult } from '../tool-result.ts';
import { cursorArgument } from './query-tool.ts';

export function runTools(needs: AgentNeeds): readonly AgentTool[] {
  return [
    agentTool({
      name: 'run_automation',
      effect: 'changes',
      operations: ['runAutomation'],
      leaves: true,
      description:
        'Start a run of an automation, for example with input {"device": "ce0"}. Then ask get_run until its status is completed, faulted or cancelled.',
      takes: {
        automation: Type.String({ description: 'Id by list_automations.' }),
        input: Type.Optional({
          type: ['object', 'string'],
          description: 'A JSON object, or its text. Default: that of the automation.',
        }),
      },
      call: (given, request) => startRun(given, request, needs),
    }),
    agentTool({
      name: 'get_run',
      effect: 'reads',
      operations: ['readRun'],
      leaves: false,
      description: 'Read the state and output of a run, or the state of an approval. Give one of the two.',
      takes: { run: Type.Optional(Type.String()), approval: Type.Optional(Type.String()), ...cursorArgument },
      answers: Type.Object({
        id: Type.String(),
        status: Type.String(),
        link: Type.Optional(Type.String()),
        expires: Type.Optional(Type.String()),
        automation: Type.Optional(Type.String()),
        suspendedBy: Type.Optional(Type.String()),
        createdAt: Type.Optional(Type.String()),
        endedAt: Type.Optional(Type.String()),
        approvals: Type.Optional(Type.Array(Type.String())),
      }),
      call: (given, request) => readRunOrApproval(given, request, needs),
    }),
  ];
}

/** Throws TaskCreated where the client takes tasks. */
async function startRun(given: ToolArguments, request: ToolRequest, needs: AgentNeeds): Promise<ToolResult> {
  const { principal, takesTasks } = request;
  const run = await onRecord('runAutomation', request, { ...needs, isRecorded: true }, async (record) => {
    permit('runAutomation', request, needs);
    if (needs.isReadOnly()) throw readOnlyRefusal('A run');
    needs.rateLimit()?.count(principal);
    const input = (await exactObject(given, 'input'))?.toString();
    const started = await needs.runs.start({ principal, automation: String(given.values['automation']), input, entrance: 'mcp' });
    const { id, automation } = started.run;
    record.note({ run: id, automation: automation && { _id: automation.id, name: automation.name } });
    return started.run;
  });
  if (takesTasks) throw new TaskCreated(await runTask(run, request, needs));
  const more = [`The run has begun. Ask get_run with run "${run.id}" for what came of it.`];
  return objectOfOthers(runObject(run, []), { more });
}

async function readRunOrApproval(given: ToolArguments, request: ToolRequest, needs: AgentNeeds): Promise<ToolResult> {
  const [run, approval] = [textArgument(given, 'run'), textArgument(given, 'approval')];
  if ((run === undefined) === (approval === undefined))
    throw invalidRequest([{ pointer: 'run', detail: 'or approval has to be given, and only one of the two' }]);
  const operation = run === undefined ? 'readApproval' : 'readRun';
  return await onRecord(operation, request, { ...needs, isRecorded: false }, async () => {
    const { principal } = request;
    permit(operation, request, needs);
    needs.rateLimit()?.count(principal);
    if (run !== undefined) {
      const found = await needs.runs.read({ principal, id: run });
      return runResult(found, {
        approvals: await waitingApprovals(found, request, needs),
        cursor: cursorIn(textArgument(given, 'cursor')),
      });
    }
    const { id, status, expiresAt } = await needs.approvals.read({ principal, id: approval ?? '' });
    const next = status === 'granted' ? [`It is granted: make the same call with approval "${id}".`] : [];
    return objectResult({ id, status, link: needs.linkOf(id), expires: new Date(expiresAt).toISOString() }, ...next);
  });
}
