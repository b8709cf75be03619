import { httpReply, jsonReply } from '../upstreams/upstream.ts';
import { type PlannedCall, replyLimit } from './history-plan.ts';

const precise = '18446744073709551615';

/** The body of the upstream's answer. */
function replyText({ id, reply }: PlannedCall): string {
  switch (reply.shape) {
    case 'empty':
      break;
    case 'restconf-error':
      return restconfError(`${id} failed`);
    case 'plain-error':
      return `<h1>${id}</h1>`;
    case 'small':
      return `{"item":[${instance(id, 0)}]}`;
    case 'large':
      return `{"item":[${instances(id, reply.instances).join(',')}]}`;
    case 'too-large':
      return `{"item":["${id}","${'x'.repeat(replyLimit)}"]}`;
  }
  return '';
}

function instance(id: string, part: number): string {
  return `{"id":"${id}","part":"${part}","n":${precise},"text":"ü\\n"}`;
}

function instances(id: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, part) => instance(id, part));
}

function restconfError(message: string): string {
  return `{"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"operation-failed","error-message":"${message}"}]}}`;
}

/** The bytes of the upstream's answer. */
export function replyBytes(call: PlannedCall): Buffer {
  const { status, shape, connection } = call.reply;
  const body = replyText(call);
  if (shape === 'empty') return httpReply({ status, headers: connectionHeader(connection) });
  const headers = { 'Content-Type': shape === 'plain-error' ? 'text/html' : 'application/json', ...connectionHeader(connection) };
  return httpReply({ status, headers, body, ...(call.reply.chunked ? { chunk: 10_000 } : {}) });
}

function connectionHeader(connection: PlannedCall['reply']['connection']): Readonly<Record<string, string>> {
  return connection === 'close' ? { Connection: 'close' } : {};
}

/** The error body of a node that is not primary, in the words in which NSO refuses changes. */
function refusalText(id: string): string {
  return restconfError(`${id}: the node is in read-only mode`);
}

export function refusalBytes(id: string): Buffer {
  return jsonReply(refusalText(id), { status: 409 });
}

/** Every answer that the caller may get, in the form of CallRecord.answers. */
export function answersOf(call: PlannedCall): readonly string[] {
  const { route, reply } = call;
  const refused = answerOf(call, 409, refusalText(call.id));
  if ((route === 'restAction' || route === 'restQuery') && reply.status >= 400) {
    return [answerOf(call, reply.status, replyText(call)), refused];
  }
  return [answerOf(call, reply.status, acknowledgedText(call)), refused];
}

function answerOf({ route }: PlannedCall, status: number, text: string): string {
  const error = status >= 400 && (route === 'restAction' || route === 'restQuery');
  return `${error ? 'upstream-error' : 'acknowledged'} ${status} ${text}`;
}

function acknowledgedText(call: PlannedCall): string {
  const { route, reply } = call;
  if (route === 'restAction' && reply.shape === 'empty') return String(reply.status);
  return route === 'restQuery' ? JSON.stringify(expectedInstances(call)) : replyText(call);
}

function expectedInstances({ id, reply }: PlannedCall): readonly Readonly<Record<string, string>>[] {
  if (reply.shape === 'empty') return [];
  const count = reply.shape === 'large' ? reply.instances : 1;
  return Array.from({ length: count }, (_, part) => ({ id, part: String(part), n: precise, text: 'ü\n' }));
}
