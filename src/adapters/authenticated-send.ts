import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Credentials } from './credentials.ts';

/**
 * Sends a call with the credentials that are held, and a query once more where a 401 refused them and others can be had. An action
 * keeps its 401: whoever sent it (a proxy in between?) does not say that nothing was done. Rejects as `send` and Credentials.headers do.
 */
export async function sendAuthenticated(options: {
  readonly credentials: Credentials;
  readonly isQuery: boolean;
  readonly scope: CallScope;
  readonly send: (credentials: readonly string[]) => Promise<FarSideReply>;
}): Promise<FarSideReply> {
  const { credentials, isQuery, scope, send } = options;
  const found = credentials.headers(scope);
  const used = found instanceof Promise ? await found : found;
  const reply = await send(used);
  const hasOthers = credentials.saw(reply, used);
  if (!hasOthers || !isQuery) return forCallers(reply, credentials);
  reply.discard();
  const others = await credentials.headers(scope);
  const second = await send(others);
  credentials.saw(second, others);
  return forCallers(second, credentials);
}

function forCallers(reply: FarSideReply, { withheld }: Credentials): FarSideReply {
  if (withheld.length === 0) return reply;
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => !withheld.includes(name)));
  return { ...reply, headers };
}
