import assert from 'node:assert/strict';
import type { Gateway, GatewayProcess } from '../gateway/start-gateway.ts';
import { lapse } from '../lapse.ts';
import type { Reply } from './http-client.ts';

// Messages of the Model Context Protocol as bytes, so that a test sees exactly what leaves and arrives.

export const revision = '2026-07-28';
export const tasksExtension = 'io.modelcontextprotocol/tasks';

export interface ToolAnswer {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

export interface TaskAnswer {
  readonly resultType: string;
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage: string;
  readonly ttlMs: number | null;
  readonly result?: ToolAnswer;
}

interface AgentOptions {
  /** A value of `Authorization`. */
  readonly authorization: string;
  /** The client declares the extension for tasks. */
  readonly tasks?: boolean;
}

type Served = Pick<Gateway, 'send'> | Pick<GatewayProcess, 'send'>;

export function agent(gateway: () => Served, { authorization, tasks = false }: AgentOptions) {
  const meta = JSON.stringify({
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'test-agent', version: '1.2.3' },
    'io.modelcontextprotocol/clientCapabilities': tasks ? { extensions: { [tasksExtension]: {} } } : {},
  });
  /** `params`: members as JSON text. */
  const post = async (method: string, params: string, name?: string): Promise<Reply> => {
    for (;;) {
      const reply = await gateway().send({
        method: 'POST',
        target: '/mcp',
        headers: {
          Authorization: authorization,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          'MCP-Protocol-Version': revision,
          'Mcp-Method': method,
          ...(name !== undefined && { 'Mcp-Name': name }),
        },
        body: `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":{${params === '' ? '' : `${params},`}"_meta":${meta}}}`,
      });
      // The machine is busy with other processes: the gateway did nothing.
      if (reply.status !== 503 || !reply.text.includes('"overloaded"')) return reply;
      await lapse(200, 'the machine may be less busy');
    }
  };
  const result = async <T>(reply: Promise<Reply>): Promise<T> => {
    const answered = await reply;
    const { result: found, error } = answered.json() as { readonly result?: T; readonly error?: unknown };
    assert.ok(found !== undefined, `${answered.status} ${JSON.stringify(error)}`);
    return found;
  };
  return {
    post,
    list: async () => await result<{ readonly tools: readonly Record<string, unknown>[] }>(post('tools/list', '')),
    /** `given`: an object, or its JSON text. */
    tool: async (name: string, given: object | string = {}) =>
      await result<ToolAnswer>(post('tools/call', `"name":${JSON.stringify(name)},"arguments":${textOf(given)}`, name)),
    toolTask: async (name: string, given: object | string = {}) =>
      await result<TaskAnswer>(post('tools/call', `"name":${JSON.stringify(name)},"arguments":${textOf(given)}`, name)),
    task: async (id: string) => await result<TaskAnswer>(post('tasks/get', `"taskId":${JSON.stringify(id)}`, id)),
    cancel: async (id: string) => await result<object>(post('tasks/cancel', `"taskId":${JSON.stringify(id)}`, id)),
  };
}

function textOf(given: object | string): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}

export function textOfAnswer(answer: ToolAnswer | undefined): string {
  assert.ok(answer !== undefined);
  return answer.content.map(({ text }) => text).join('\n');
}
