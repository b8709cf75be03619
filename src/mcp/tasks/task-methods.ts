import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { GatewayError } from '#base/gateway-error.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import type { ToolRequest } from '../agent-request.ts';
import { readOnlyRefusal } from '../agent-tool.ts';
import { onRecord } from '../call-entrance.ts';
import { sentenceOf } from '../tool-result.ts';
import { runTask } from './run-tasks.ts';
import type { AgentTask } from './task-created.ts';
import type { WaitingCalls } from './waiting-calls.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Undefined, and false: the principal has no such task. */
export interface AgentTasks {
  read(id: string, request: ToolRequest): Promise<AgentTask | undefined>;
  cancel(id: string, request: ToolRequest): Promise<boolean>;
}

/** Runs that agents started, and calls that wait for people. A task is its own principal's alone. */
export function createAgentTasks(waiting: Pick<WaitingCalls, 'cancel' | 'read'>, needs: AgentNeeds): AgentTasks {
  const ownRun = async (id: string, { principal }: ToolRequest) => {
    const run = await needs.runs.read({ principal, id }).catch(orNone);
    return run?.principal.id === principal.id && run.entrance === 'mcp' ? run : undefined;
  };
  return {
    async read(id, request) {
      needs.rateLimit()?.count(request.principal);
      const run = await ownRun(id, request);
      return run === undefined ? await waiting.read(id, request.principal) : await runTask(run, request, needs);
    },
    async cancel(id, request) {
      needs.rateLimit()?.count(request.principal);
      const run = await ownRun(id, request);
      if (run === undefined) return await waiting.cancel(id, request.principal);
      await onRecord('cancelRun', request, { ...needs, isRecorded: true }, async (record) => {
        record.note({ run: id });
        if (needs.isReadOnly()) throw readOnlyRefusal('Cancelling a run');
        if (run.endedAt === undefined) await needs.runs.cancel({ principal: request.principal, id });
      });
      return true;
    },
  };
}

function orNone(error: unknown): undefined {
  if (error instanceof GatewayError && (error.status === 403 || error.status === 404)) return undefined;
  throw error;
}

/** `requestOf`: of the message that the server answers. */
export function answerTasks(
  server: Server,
  { tasks, requestOf }: { readonly tasks: AgentTasks; readonly requestOf: (context: ServerContext) => ToolRequest },
): void {
  const answer = (
    method: string,
    work: (id: string, request: ToolRequest) => Promise<Readonly<Record<string, unknown>> | undefined>,
  ) =>
    server.setRequestHandler(method, { params: taskParams }, async ({ taskId }, context) => {
      const request = requestOf(context);
      if (!request.takesTasks)
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } });
      const answered = await work(taskId, request).catch((error: unknown) => {
        throw error instanceof GatewayError ? new ProtocolError(ProtocolErrorCode.InternalError, sentenceOf(error)) : error;
      });
      if (answered === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task of yours.');
      return answered;
    });
  answer('tasks/get', (id, request) => tasks.read(id, request));
  answer('tasks/cancel', async (id, request) => ((await tasks.cancel(id, request)) ? {} : undefined));
  // Nothing waits for an answer of a client: people decide behind a login.
  answer('tasks/update', async (id, request) => ((await tasks.read(id, request)) === undefined ? undefined : {}));
}

/** `{ taskId: string }`, as the SDK takes schemas (standardschema.dev). */
const taskParams = {
  '~standard': {
    version: 1,
    vendor: 'orchestration-gateway',
    validate(value: unknown) {
      const { taskId } = value as { readonly taskId?: unknown };
      if (typeof taskId === 'string') return { value: { taskId } };
      return { issues: [{ message: 'taskId is missing', path: ['taskId'] }] };
    },
    types: undefined as unknown as { readonly input: { readonly taskId: string }; readonly output: { readonly taskId: string } },
  },
} as const;
