import assert from 'node:assert/strict';
import { type JsonNode, readJsonTree } from '../../../src/json/json-tree.ts';
import type { Gateway, TestRole } from '../gateway/start-gateway.ts';
import type { Reply } from './http-client.ts';

/** The shape of an error: RFC 9457 with the members of docs/reference/errors.md. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly requestId: string;
  readonly errors?: readonly {
    readonly pointer: string;
    readonly detail: string;
    readonly line?: number;
    readonly column?: number;
  }[];
  readonly upstream?: { readonly status: number; readonly contentType?: string; readonly body?: string };
  readonly approval?: { readonly id: string; readonly href: string; readonly expires: string };
}

interface CallOptions {
  readonly role?: TestRole;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Posts JSON: an object is written by JSON.stringify, a string is sent unchanged. */
export function post(gateway: Gateway, target: string, body: object | string, options: CallOptions = {}): Promise<Reply> {
  return gateway.send({
    method: 'POST',
    target,
    role: options.role ?? 'admin',
    headers: { 'Content-Type': 'application/json', ...options.headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export function restCall(gateway: Gateway, body: object | string, options?: CallOptions): Promise<Reply> {
  return post(gateway, '/tools/restCall', body, options);
}

/** `restAction`, `restQuery` or `restRequest` through the adapter of that name. */
export function relay(
  gateway: Gateway,
  route: 'restAction' | 'restQuery' | 'restRequest',
  adapter: string,
  body: object | string,
  options?: CallOptions,
): Promise<Reply> {
  return post(gateway, `/orchestrator_manager/${route}/${encodeURIComponent(adapter)}`, body, options);
}

/** The upstream's answer in a successful restCall. */
export function responseOf(reply: Reply): string {
  assert.equal(reply.status, 200, reply.text);
  const value = reply.json() as { readonly response: string };
  assert.deepEqual(Object.keys(value), ['response']);
  assert.equal(typeof value.response, 'string');
  return value.response;
}

/** The result of a successful restAction. */
export function resultOf(reply: Reply): string {
  assert.equal(reply.status, 200, reply.text);
  const value = reply.json() as readonly { readonly result: string }[];
  assert.equal(value.length, 1, reply.text);
  assert.deepEqual(Object.keys(value[0] ?? {}), ['result']);
  assert.equal(typeof value[0]?.result, 'string');
  return value[0]?.result ?? '';
}

/** Used instead of JSON.parse: V8 in Node 26.10 reads the second name of {"b":1,"\\"":2} wrongly after another such object. */
function plain(node: JsonNode): unknown {
  if (node.kind === 'object') return Object.fromEntries(node.members.map(([name, value]) => [name, plain(value)]));
  if (node.kind === 'array') return node.items.map(plain);
  return node.kind === 'string' ? node.value : node;
}

/** The `instance_data` objects of a successful restQuery. */
export function instancesOf(reply: Reply): readonly Readonly<Record<string, string>>[] {
  assert.equal(reply.status, 200, reply.text.slice(0, 2000));
  const read = plain(readJsonTree(Buffer.from(reply.text)));
  const value = read as { readonly result: readonly { readonly instance_data: Readonly<Record<string, string>> }[] };
  assert.deepEqual(Object.keys(value), ['result']);
  return value.result.map((element) => {
    assert.deepEqual(Object.keys(element), ['instance_data']);
    return element.instance_data;
  });
}

/** The caller, as `/whoami` names it; without the operations that it may use. */
export function callerIn(reply: Reply): unknown {
  const { operations, ...caller } = reply.json() as { readonly operations?: unknown };
  assert.ok(Array.isArray(operations), reply.text);
  return caller;
}

/** Holds a reply to be a complete problem+json of this status and code. */
export function assertProblem(reply: Reply, status: number, code?: string): Problem {
  assert.equal(reply.status, status, reply.text.slice(0, 2000));
  assert.match(reply.header('content-type') ?? '', /^application\/problem\+json\b/);
  assert.ok(reply.complete);
  const problem = reply.json() as Problem;
  const known = new Set(['type', 'title', 'status', 'detail', 'code', 'requestId', 'errors', 'upstream', 'approval']);
  assert.deepEqual(
    Object.keys(problem).filter((name) => !known.has(name)),
    [],
  );
  for (const name of ['type', 'title', 'detail', 'code', 'requestId'] as const) {
    assert.equal(typeof problem[name], 'string', name);
    assert.notEqual(problem[name], '', name);
  }
  assert.equal(problem.status, status);
  assert.equal(reply.header('x-request-id'), problem.requestId);
  if (code !== undefined) assert.equal(problem.code, code, reply.text.slice(0, 2000));
  return problem;
}

/** The pointers of a problem's errors, sorted, each once. */
export function pointersOf(problem: Problem): readonly string[] {
  return [...new Set((problem.errors ?? []).map((error) => error.pointer))].sort();
}
