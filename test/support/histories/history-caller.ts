import { once } from 'node:events';
import type { Problem } from '../callers/calls.ts';
import { openConnection, type Reply, requestBytes } from '../callers/http-client.ts';
import { lapse } from '../lapse.ts';
import type { Received } from './history-checker.ts';
import type { PlannedCall } from './history-plan.ts';

interface CallerOptions {
  readonly port: number;
  readonly authorization: string;
  /** `ADDRESS:PORT` of the upstream of restCall. */
  readonly authority: string;
  /** Milliseconds without a reply after which a call is `silent`. */
  readonly patience: number;
}

/** Makes the call as planned, on a connection of its own; answers the result that its caller sees. */
export async function makeCall(call: PlannedCall, options: CallerOptions): Promise<Received> {
  const bytes = requestOf(call, options);
  const connection = await openConnection(options.port);
  const { promise: gone, resolve: go } = Promise.withResolvers<Received>();
  const patience = setTimeout(() => go({ as: 'silent' }), options.patience);
  let leaving: NodeJS.Timeout | undefined;
  try {
    if (call.leave?.when === 'sending') {
      connection.write(bytes.subarray(0, bytes.length - 5));
      await lapse(call.leave.milliseconds, 'the caller leaves at this moment');
      return { as: 'left', asked: false };
    }
    connection.write(bytes);
    if (call.leave?.when === 'waiting') leaving = setTimeout(() => go({ as: 'left', asked: true }), call.leave.milliseconds);
    if (call.leave?.when === 'reading') connection.socket.once('data', () => go({ as: 'left', asked: true }));
    return await Promise.race([gone, connection.reply().then((reply) => receivedBy(call, reply))]);
  } finally {
    clearTimeout(patience);
    clearTimeout(leaving);
    connection.socket.destroy();
    if (!connection.socket.closed) await once(connection.socket, 'close');
  }
}

function requestOf(call: PlannedCall, { port, authorization, authority }: CallerOptions): Buffer {
  const headers = { Authorization: authorization, 'Content-Type': 'application/json' };
  const body = call.body === undefined ? '' : `,"body":${call.body}`;
  if (call.adapter === undefined) {
    const members = { uri: `http://${authority}/${call.path}`, verb: call.method, responseHeaders: call.withHeaders };
    const text = `${JSON.stringify(members).slice(0, -1)}${body}}`;
    return requestBytes(port, { method: 'POST', target: '/tools/restCall', headers, body: text });
  }
  const method = call.route === 'restRequest' ? { method: call.method } : {};
  const params = JSON.stringify({ ...method, path: call.path, accept: 'application/json' });
  const target = `/orchestrator_manager/${call.route}/${encodeURIComponent(call.adapter)}`;
  return requestBytes(port, { method: 'POST', target, headers, body: `{"params":${params}${body}}` });
}

function receivedBy(call: PlannedCall, reply: Reply | undefined): Received {
  if (reply === undefined) return { as: 'no-reply' };
  if (!reply.complete) return { as: 'broken-off', status: reply.status };
  if (reply.status !== 200) {
    const { code, upstream } = reply.json() as Problem;
    return { as: 'problem', code, ...(upstream === undefined ? {} : { text: `${upstream.status} ${upstream.body}` }) };
  }
  return { as: 'acknowledged', text: `${reply.header('x-upstream-status')} ${acknowledgedText(call, reply)}` };
}

/** The rendered body of the upstream as text, in which numbers keep their digits. */
function acknowledgedText({ route, withHeaders }: PlannedCall, reply: Reply): string {
  const value = reply.json();
  switch (route) {
    case 'restAction':
      return (value as readonly { readonly result: string }[])[0]?.result ?? 'no result';
    case 'restQuery':
      return JSON.stringify(
        (value as { readonly result: readonly { readonly instance_data: unknown }[] }).result.map((one) => one.instance_data),
      );
    case 'restRequest':
      return (value as { readonly body: string }).body;
    case 'restCall':
      break;
  }
  const { response } = value as { readonly response: string };
  return withHeaders ? bodyWithin(response) : response;
}

/** The last member, `body`: its JSON text where it is JSON, else its value as a string. */
function bodyWithin(response: string): string {
  const { body } = JSON.parse(response) as { readonly body: unknown };
  return typeof body === 'string' ? body : response.slice(response.indexOf(',"body":') + ',"body":'.length, -1);
}
