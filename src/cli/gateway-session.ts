import { GatewayError } from '#base/gateway-error.ts';
import { visible } from '#base/visible.ts';
import { parseExact } from '#json/exact-json.ts';
import type { CommandContext, CommandOption, GivenArguments, RemoteGateway, RemoteReply, RemoteRequest } from './command.ts';
import { credentialsOf } from './gateway-credentials.ts';
import { program } from './help.ts';
import { OutputFailed } from './output.ts';

/** The options of every command that asks a running gateway. */
export const gatewayOptions = {
  url: { value: 'URL', default: '', meaning: 'the gateway (default: GATEWAY_URL, otherwise http://127.0.0.1:3000)' },
  user: { value: 'NAME', default: '', meaning: 'the user (default: GATEWAY_USER); the password is in GATEWAY_PASSWORD' },
} as const satisfies Readonly<Record<string, CommandOption>>;

/** For the descriptions of those commands. */
export const loginWords: readonly string[] = [
  'The command asks a running gateway over HTTP. Log in with GATEWAY_USER and GATEWAY_PASSWORD, or',
  'with a token in GATEWAY_TOKEN. Without a password a terminal asks for it.',
];

/** A running gateway, with the login of the person who typed the command. */
export interface GatewaySession {
  /** The JSON value of a reply, with the digits of its numbers. Rejects with a CommandFailed. */
  readonly ask: (request: RemoteRequest) => Promise<unknown>;
  /** A reply below 300. Rejects with a GatewayRefusal, a GatewayAway, or CallerLeft after an abort. */
  readonly open: (request: RemoteRequest) => Promise<RemoteReply>;
}

/** Ends a command with exit code 1. The message is for the terminal: a clause without the name of the command. */
export class CommandFailed extends Error {}

/** The gateway answered, and refused the request. */
export class GatewayRefusal extends CommandFailed {
  readonly status: number;
  readonly code: string;
  /** Seconds, from Retry-After. */
  readonly retryAfter: number | undefined;

  constructor(message: string, { status, code, retryAfter }: Pick<GatewayRefusal, 'status' | 'code' | 'retryAfter'>) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** No reply came, or it broke off. */
export class GatewayAway extends CommandFailed {
  /** No connection could be made, so nothing was sent. */
  readonly neverLeft: boolean;

  constructor(message: string, neverLeft: boolean) {
    super(message);
    this.neverLeft = neverLeft;
  }
}

/** Runs `work` with the gateway and the login that the options and the environment name. Resolves with the exit code. */
export async function withSession(
  { context, given, command }: { readonly context: CommandContext; readonly given: GivenArguments; readonly command: string },
  work: (session: GatewaySession) => Promise<number>,
): Promise<number> {
  const complain = (message: string): void => void context.stderr.write(`${program} ${command}: ${message}\n`);
  const url = addressOf(given.option('url') || context.env['GATEWAY_URL'] || 'http://127.0.0.1:3000');
  if (typeof url === 'string') {
    complain(url);
    return 2;
  }
  const credentials = await credentialsOf(context, given.option('user'));
  if ('fault' in credentials) {
    complain(credentials.fault);
    return 2;
  }
  try {
    return await context.withGateway(url, (gateway) => work(sessionWith({ gateway, url, ...credentials })));
  } catch (error) {
    if (error instanceof OutputFailed && error.readerLeft) return 0;
    if (!(error instanceof CommandFailed || error instanceof OutputFailed)) throw error;
    complain(error.message);
    return 1;
  }
}

/** The address, or what is wrong with it. */
function addressOf(text: string): URL | string {
  const where = `the address of the gateway ${JSON.stringify(visible(text))}`;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return `${where} is no http or https address, such as https://gateway.example.net`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'the address of the gateway has credentials; put them into GATEWAY_USER and GATEWAY_PASSWORD';
  }
  return url.search === '' && url.hash === '' ? url : `${where} has a query or a fragment; leave it out`;
}

interface SessionNeeds {
  readonly gateway: RemoteGateway;
  readonly url: URL;
  /** The value of the header; undefined without a login. */
  readonly authorization: string | undefined;
  /** Whose login it is, for messages. */
  readonly who: string;
}

function sessionWith(needs: SessionNeeds): GatewaySession {
  const { gateway, url, authorization } = needs;
  const open: GatewaySession['open'] = async ({ headers, ...request }) => {
    const login = authorization === undefined ? {} : { Authorization: authorization };
    const reply = await reachable(url, gateway.send({ ...request, headers: { ...login, ...headers } }));
    if (reply.status >= 300) throw refusal(reply, await reachable(url, textOf(reply)), needs);
    return reply;
  };
  return {
    open,
    async ask(request) {
      const reply = await open(request);
      const text = await reachable(url, textOf(reply));
      return text === '' ? undefined : (parsed(text) ?? fail(`${url.origin} does not answer as a gateway does`));
    },
  };
}

/** Rejects with a GatewayAway instead of the error of the connection. */
async function reachable<T>(url: URL, promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw error instanceof GatewayError ? gatewayAway(url, error) : error;
  }
}

const howToName = 'Start one, or name its address with --url or GATEWAY_URL.';

/** What the failure of a connection means for the person who typed the command. */
function gatewayAway(url: URL, { code, message }: GatewayError): GatewayAway {
  const at = visible(url.origin);
  switch (code) {
    case 'upstream-connect-failed':
      return new GatewayAway(
        `no gateway answers at ${at}: ${visible(message).replace(/^No connection: /u, '')} ${howToName}`,
        true,
      );
    case 'upstream-dns-failed':
      return new GatewayAway(`the host name of ${at} cannot be looked up. ${howToName}`, true);
    case 'upstream-tls-failed':
      return new GatewayAway(`TLS with ${at} failed: ${visible(message)} NODE_EXTRA_CA_CERTS names a file of further CAs.`, true);
    case 'upstream-timeout':
      return new GatewayAway(`the gateway at ${at} did not answer in time`, false);
    case 'upstream-protocol-error':
      return new GatewayAway(`${at} does not speak HTTP as a gateway does. ${howToName}`, false);
    default:
      return new GatewayAway(`the gateway at ${at} broke the connection off`, false);
  }
}

async function textOf({ body }: RemoteReply): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

function fail(message: string): never {
  throw new CommandFailed(message);
}

interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
}

/** What a reply of 300 and above says: the gateway's own words, and what to do about the login. */
function refusal({ status, header }: RemoteReply, text: string, { url, who, authorization }: SessionNeeds): GatewayRefusal {
  const { code = '', detail, errors = [] } = (parsed(text) ?? {}) as Problem;
  const about = { status, code, retryAfter: secondsIn(header('retry-after')) };
  if (code === '' || detail === undefined) {
    return new GatewayRefusal(`${visible(url.origin)} answers ${status}, and not as a gateway does. ${howToName}`, about);
  }
  if (code === 'unauthenticated') return new GatewayRefusal(loginFault(authorization, who), about);
  const words = status === 403 ? `${who} may not do this: ${detail}` : detail;
  return new GatewayRefusal(problemLines(words, errors), about);
}

function secondsIn(retryAfter: string | undefined): number | undefined {
  return retryAfter !== undefined && /^\d{1,6}$/u.test(retryAfter) ? Number(retryAfter) : undefined;
}

function problemLines(words: string, errors: NonNullable<Problem['errors']>): string {
  const isAboutOptions = errors.length > 0 && errors.every(({ pointer }) => pointer.startsWith('?'));
  if (isAboutOptions) return errors.map(({ pointer, detail }) => visible(`--${pointer.slice(1)} ${detail}`)).join('\n');
  // The words have the only problem.
  if (errors.length < 2) return visible(words);
  return [visible(words), ...errors.map(({ pointer, detail }) => `  ${visible(`${pointer}: ${detail}`)}`)].join('\n');
}

function loginFault(authorization: string | undefined, who: string): string {
  return authorization === undefined
    ? 'the gateway needs a login: set GATEWAY_USER and GATEWAY_PASSWORD, or GATEWAY_TOKEN'
    : `the gateway does not accept the login of ${who}: check ${authorization.startsWith('Basic') ? 'the user name and GATEWAY_PASSWORD' : 'GATEWAY_TOKEN, which may have expired'}`;
}
