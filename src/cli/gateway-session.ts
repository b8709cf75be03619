import { packageVersion } from '#base/package-version.ts';
import { visible } from '#base/text/visible.ts';
import { type Credentials, createGateway, type Gateway, GatewayError, type Reply } from '#client/gateway.ts';
import { parseExact } from '#json/parse-json.ts';
import type { CommandContext, CommandOption, GivenArguments } from './command.ts';
import { gatewayFault, isAboutOptions } from './gateway-fault.ts';
import { OutputFailed } from './output.ts';
import { askPasswords } from './passwords.ts';
import { program } from './texts/help.ts';

/** The options of every command that asks a running gateway. */
export const gatewayOptions = {
  url: { value: 'URL', meaning: 'the gateway (default: GATEWAY_URL, otherwise http://127.0.0.1:3000)' },
  user: { value: 'NAME', meaning: 'the user (default: GATEWAY_USER); the password is in GATEWAY_PASSWORD' },
} as const satisfies Readonly<Record<string, CommandOption>>;

/** For the descriptions of those commands. */
export const loginWords: readonly string[] = [
  'The command asks a running gateway over HTTP. Log in with GATEWAY_USER and GATEWAY_PASSWORD, or',
  'with a token in GATEWAY_TOKEN. Without a password a terminal asks for it.',
];

/** Ends a command. The message is for the terminal: a clause without the name of the command. */
export class CommandFailed extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The client of a running gateway, with the login of the person who typed the command. */
export interface GatewaySession {
  readonly context: CommandContext;
  readonly given: GivenArguments;
  readonly gateway: Gateway;
  /** Writes a clause to standard error, after the name of the command. */
  readonly complain: (message: string) => void;
  /** What a failure of the client means for that person: a clause. */
  readonly wordsFor: (error: GatewayError) => string;
  /** The address of a page of the console. */
  readonly consoleLink: (page: string) => string;
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
  const login = await credentialsOf(context, given.option('user'));
  if ('fault' in login) {
    complain(login.fault);
    return 2;
  }
  const wordsFor = (error: GatewayError): string => gatewayFault(error, { url, ...login });
  try {
    const consoleLink = (page: string): string => `${url.origin}${url.pathname.replace(/\/$/u, '')}/console/${page}`;
    const gateway = await gatewayAt(url, login.credentials);
    return await work({ context, given, gateway, complain, wordsFor, consoleLink });
  } catch (error) {
    if (error instanceof OutputFailed && error.readerLeft) return 0;
    complain(failureWords(error, wordsFor));
    return exitCodeOf(error);
  }
}

/** Throws errors that are no failure of a command. */
function failureWords(error: unknown, wordsFor: GatewaySession['wordsFor']): string {
  if (error instanceof GatewayError) return wordsFor(error);
  if (error instanceof CommandFailed || error instanceof OutputFailed) return error.message;
  throw error;
}

/** 2 where what was typed is wrong. */
function exitCodeOf(error: unknown): number {
  if (error instanceof GatewayError) return isAboutOptions(error) ? 2 : 1;
  return error instanceof CommandFailed ? error.exitCode : 1;
}

/** The client of the gateway at an address. */
async function gatewayAt(url: URL, credentials: Credentials): Promise<Gateway> {
  const headers = { 'User-Agent': `orchestration-gateway/${await packageVersion()}` };
  return createGateway({ baseUrl: url.origin + url.pathname, headers, ...credentials });
}

/** The value of a reply, with the digits of its numbers. */
export function exact<Value>(reply: Reply<Value>): Value {
  // Throws where the reply is no JSON.
  return reply.value === undefined ? reply.value : (parseExact(reply.text) as Value);
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

/** The login for a gateway, or what is missing in it. `who`: for messages. */
type Login =
  | { readonly credentials: Credentials; readonly kind: 'password' | 'token' | 'none'; readonly who: string }
  | { readonly fault: string };

/**
 * The login from the environment. `user` is the value of the option, or empty. A password is never on the command line, where other
 * users of the machine see it. A terminal asks for a missing one.
 */
async function credentialsOf(context: CommandContext, user: string): Promise<Login> {
  const named = context.env['GATEWAY_USER'] ?? '';
  const token = context.env['GATEWAY_TOKEN'] ?? '';
  if (user === '' && token !== '') {
    return named === '' ? bearer(token) : { fault: 'GATEWAY_USER and GATEWAY_TOKEN are both set; unset one of them' };
  }
  const username = user || named;
  if (username === '') return { credentials: {}, kind: 'none', who: 'a caller without a login' };
  return await passwordLogin(context, username);
}

async function passwordLogin(context: CommandContext, username: string): Promise<Login> {
  if (username.includes(':')) return { fault: 'a user name has no colon' };
  const password = context.env['GATEWAY_PASSWORD'] || (await typedPassword(context, username));
  return password === ''
    ? { fault: 'there is no password; set GATEWAY_PASSWORD' }
    : { credentials: { username, password }, kind: 'password', who: `the user ${visible(username)}` };
}

/** Empty without a terminal. */
async function typedPassword({ isTerminal, stdin, stderr }: CommandContext, username: string): Promise<string> {
  if (!isTerminal) return '';
  const [typed = ''] = await askPasswords({ stdin, stderr, prompts: [`Password of ${visible(username)}: `] });
  return typed;
}

function bearer(token: string): Login {
  return /^[!-~]+$/u.test(token)
    ? { credentials: { token }, kind: 'token', who: 'the owner of GATEWAY_TOKEN' }
    : { fault: 'GATEWAY_TOKEN is no token: it has white space or other characters' };
}
