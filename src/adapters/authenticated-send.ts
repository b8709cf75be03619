import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Credentials } from './credentials.ts';

interface AuthenticatedSend {
  readonly credentials: Credentials;
  readonly isQuery: boolean;
  readonly scope: CallScope;
  readonly send: (credentials: readonly string[]) => Promise<FarSideReply>;
}

/** `refused`: the far side refuses the credentials, and the gateway has no others. */
interface AuthenticatedReply {
  readonly reply: FarSideReply;
  readonly refused: boolean;
}

/**
 * Sends a call with the current credentials. If a query gets a 401 and there may be other credentials, sends it again with those.
 * An action keeps its 401, because a proxy may have sent it, and the action may have happened. Throws or rejects as `send` and
 * Credentials.headers do.
 */
export function sendAuthenticated(options: AuthenticatedSend): Promise<AuthenticatedReply> {
  const held = options.credentials.headers(options.scope);
  return held instanceof Promise ? held.then((found) => sendWith(found, options)) : sendWith(held, options);
}

function sendWith(used: readonly string[], options: AuthenticatedSend): Promise<AuthenticatedReply> {
  const { credentials, isQuery, send } = options;
  return send(used).then((reply) => {
    const hasOthers = credentials.observe(reply, used);
    if (hasOthers && isQuery) return sendAgain(reply, options);
    return { reply: forCallers(reply, credentials), refused: reply.status === 401 && !hasOthers };
  });
}

async function sendAgain(refused: FarSideReply, { credentials, scope, send }: AuthenticatedSend): Promise<AuthenticatedReply> {
  refused.discard();
  const others = await credentials.headers(scope);
  const second = await send(others);
  credentials.observe(second, others);
  return { reply: forCallers(second, credentials), refused: second.status === 401 };
}

function forCallers(reply: FarSideReply, { withheld }: Credentials): FarSideReply {
  if (withheld.length === 0) return reply;
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => !withheld.includes(name)));
  return { ...reply, headers };
}
