import type { AnyCallOptions, Operation, Page, Reply } from './call.ts';
import { authorizationOf, type Credentials } from './credentials.ts';
import { followEvents } from './follow.ts';
import { errorOf, GatewayError } from './gateway-error.ts';
import { type OperationName, type Operations, operations, type Pages } from './generated/operations.gen.ts';
import type { AccessToken } from './generated/types.gen.ts';
import { eachOf } from './pages.ts';
import { brokenOff } from './pieces.ts';
import { requestOf } from './request.ts';

export type { CallOptions, FollowOptions, Operation, Reply, RequestOptions, RunEvent, StreamedEvent } from './call.ts';
export type { Credentials } from './credentials.ts';
export { type ClientErrorCode, type ErrorCode, GatewayError } from './gateway-error.ts';
export { type OperationName, operations } from './generated/operations.gen.ts';
export type * from './generated/types.gen.ts';
export { durationText, itemsText } from './texts.ts';

/** Where the gateway is, and who calls. Without credentials a browser sends its session cookie. */
export type GatewayOptions = Credentials & {
  /** Such as `https://gateway.example.net`; behind a proxy it may have a path. */
  readonly baseUrl: string;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** A gateway: a method for each operation of its API, by its operationId. A call is sent once and never repeated. */
export interface Gateway extends Operations {
  /** The entries of a list, page after page. */
  readonly each: Pages;
  /** The reply of an operation with its body unread, for large replies. Rejects with a GatewayError as the methods do. */
  open(name: OperationName, options?: AnyCallOptions): Promise<Response>;
}

/** Nothing is sent before the first call. */
export function createGateway(options: GatewayOptions): Gateway {
  const sender = createSender(options);
  const open: Gateway['open'] = (name, given = {}) => sender.send(operations[name], given);
  const methods: Record<string, unknown> = {};
  const each: Record<string, unknown> = {};
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    const ask = async (given: AnyCallOptions = {}): Promise<Reply<unknown>> => replyOf(await sender.send(operation, given));
    methods[name] = operation.follows === true ? followerOf(sender, operation) : ask;
    if (operation.pages !== undefined) {
      each[name] = (given: AnyCallOptions = {}) => eachOf(operation, given, async (page) => (await ask(page)).value as Page);
    }
  }
  return { ...(methods as unknown as Operations), each: each as unknown as Pages, open };
}

interface Sender {
  /** Resolves with a reply below 300, its body unread. */
  readonly send: (operation: Operation, options: AnyCallOptions) => Promise<Response>;
}

function createSender(options: GatewayOptions): Sender {
  const { baseUrl, headers: always = {} } = options;
  const authorization = authorizationOf(options, async (basic) => {
    const given = { headers: { ...always, Authorization: basic }, body: { grant_type: 'client_credentials' } };
    return (await replyOf(await once(baseUrl, operations.issueToken, given))).value as AccessToken;
  });
  return {
    async send(operation, given) {
      for (let isFirst = true; ; isFirst = false) {
        const value = await authorization.value();
        const login = value === undefined ? {} : { Authorization: value };
        try {
          return await once(baseUrl, operation, { ...given, headers: { ...always, ...login, ...given.headers } });
        } catch (error) {
          const isRefused = error instanceof GatewayError && error.status === 401 && (await authorization.refused(value));
          // A refused token of a client is replaced. Only a reading call is sent again with the next one.
          if (!isRefused || !isFirst || operation.method !== 'GET') throw error;
        }
      }
    },
  };
}

async function once(baseUrl: string, operation: Operation, options: AnyCallOptions): Promise<Response> {
  const { url, init } = requestOf(baseUrl, operation, options);
  const carriesLogin = new Headers(init.headers).has('Authorization');
  // A cookie next to a login would be a second login.
  const response = await fetch(url, { ...init, credentials: carriesLogin ? 'omit' : 'same-origin' }).catch((error: unknown) => {
    throw error instanceof TypeError ? unreachable(baseUrl, error) : error;
  });
  if (response.ok) return response;
  throw errorOf(response, await textOf(response));
}

function unreachable(baseUrl: string, error: TypeError): GatewayError {
  const { message, code } = (error.cause ?? error) as { readonly message?: string; readonly code?: string };
  return new GatewayError(`No reply came from ${baseUrl}: ${message || code || error.message}`, {
    code: 'no-reply',
    cause: error,
  });
}

async function textOf(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw brokenOff(error);
  }
}

async function replyOf(response: Response): Promise<Reply<unknown>> {
  const text = await textOf(response);
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/u.test(response.headers.get('content-type') ?? '');
  let parsed: { readonly value: unknown } | undefined;
  return {
    text,
    status: response.status,
    headers: response.headers,
    get value() {
      parsed ??= { value: isJson ? parse(text, response.status) : text };
      return parsed.value;
    },
  };
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new GatewayError('The reply is no JSON, so it is not one of a gateway.', { code: 'no-gateway', status, cause: error });
  }
}

function followerOf({ send }: Sender, operation: Operation): unknown {
  return ({ path, query, ...following }: AnyCallOptions & Omit<Parameters<typeof followEvents>[0], 'open'> = {}) =>
    followEvents({
      ...following,
      open: (headers, signal) =>
        send(operation, { headers, signal, ...(path === undefined ? {} : { path }), ...(query === undefined ? {} : { query }) }),
    });
}
