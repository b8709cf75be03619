import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Credentials } from './credentials.ts';

interface AuthenticatedSend {
  readonly credentials: Credentials;
  readonly isQuery: boolean;
  readonly scope: CallScope;
  readonly send: (credentials: readonly string[]) => Promise<FarSideReply>;
}

/**
 * Sends a call with the credentials that are held, and a query once more where a 401 refused them and others can be had. An action
 * keeps its 401: whoever sent it (a proxy in between?) does not say that nothing was done. Throws or rejects as `send` and
 * Credentials.headers do.
 */
export function sendAuthenticated(options: AuthenticatedSend): Promise<FarSideReply> {
  const held = options.credentials.headers(options.scope);
  return held instanceof Promise ? held.then((found) => sendWith(found, options)) : sendWith(held, options);
}

function sendWith(used: readonly string[], options: AuthenticatedSend): Promise<FarSideReply> {
  const { credentials, isQuery, send } = options;
  return send(used).then((reply) => {
    const hasOthers = credentials.saw(reply, used);
    return hasOthers && isQuery ? sendOnceMore(reply, options) : forCallers(reply, credentials);
  });
}

async function sendOnceMore(refused: FarSideReply, { credentials, scope, send }: AuthenticatedSend): Promise<FarSideReply> {
  refused.discard();
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
