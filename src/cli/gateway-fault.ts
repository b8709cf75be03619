import { systemCode } from '#base/system-code.ts';
import { visible } from '#base/text/visible.ts';
import type { GatewayError } from '#client/gateway.ts';

interface Asked {
  readonly url: URL;
  /** Whose login it is, for messages. */
  readonly who: string;
  readonly kind: 'password' | 'token' | 'none';
}

const howToName = 'Start one, or name its address with --url or GATEWAY_URL.';

/** What a failure of the client means for the person who typed the command: a clause for the terminal. */
export function gatewayFault(error: GatewayError, asked: Asked): string {
  if (error.code === 'no-reply') return noReply(error, visible(asked.url.origin));
  if (error.code === 'no-gateway') {
    return `${visible(asked.url.origin)} answers ${error.status}, and not as a gateway does. ${howToName}`;
  }
  if (error.code === 'unauthenticated') return loginFault(asked);
  const words = error.status === 403 ? `${asked.who} may not do this: ${error.message}` : error.message;
  return problemLines(words, error);
}

/** Whether every problem is one of a query parameter, which an option gave. */
export function isAboutOptions({ problem }: GatewayError): boolean {
  const errors = problem?.errors ?? [];
  return errors.length > 0 && errors.every(({ pointer }) => pointer.startsWith('?'));
}

/** Whether no connection could be made, so that nothing was sent. */
export function neverReached(error: GatewayError): boolean {
  const cause = causeOf(error);
  return error.code === 'no-reply' && (unconnected.has(cause.code) || isTls(cause.code) || cause.code === 'ENOTFOUND');
}

const unconnected: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function noReply(error: GatewayError, at: string): string {
  const { code, message } = causeOf(error);
  if (unconnected.has(code)) return `no gateway answers at ${at}: ${visible(message)}. ${howToName}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the host name of ${at} cannot be looked up. ${howToName}`;
  if (isTls(code)) return `TLS with ${at} failed: ${visible(message)}. NODE_EXTRA_CA_CERTS names a file of further CAs.`;
  if (/^UND_ERR_\w+_TIMEOUT$/u.test(code)) return `the gateway at ${at} did not answer in time`;
  if (code.startsWith('HPE_')) return `${at} does not speak HTTP as a gateway does. ${howToName}`;
  if (message === 'bad port') return `no program that follows the Fetch standard connects to the port of ${at}. ${howToName}`;
  return `the gateway at ${at} broke the connection off`;
}

/** Codes of OpenSSL's verification, and of Node's own. */
function isTls(code: string): boolean {
  return /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO)/u.test(code);
}

/** The error of the connection: the fetch of Node has it as the cause of a TypeError. */
function causeOf({ cause }: GatewayError): { readonly code: string; readonly message: string } {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : undefined;
  const code = systemCode(inner) ?? '';
  // Where a name has several addresses, only the code is set.
  return { code, message: (inner instanceof Error && inner.message) || code };
}

function problemLines(words: string, error: GatewayError): string {
  const errors = error.problem?.errors ?? [];
  if (isAboutOptions(error)) return errors.map(({ pointer, detail }) => visible(`--${pointer.slice(1)} ${detail}`)).join('\n');
  const [first, second] = errors;
  // The words may have the only problem already.
  if (first === undefined || (second === undefined && words.includes(first.detail))) return visible(words);
  return [
    visible(words),
    ...errors.map(({ pointer, detail }) => `  ${visible(pointer === '' ? detail : `${pointer}: ${detail}`)}`),
  ].join('\n');
}

function loginFault({ kind, who }: Asked): string {
  if (kind === 'none') return 'the gateway needs a login: set GATEWAY_USER and GATEWAY_PASSWORD, or GATEWAY_TOKEN';
  const check = kind === 'password' ? 'the user name and GATEWAY_PASSWORD' : 'GATEWAY_TOKEN, which may have expired';
  return `the gateway does not accept the login of ${who}: check ${check}`;
}
