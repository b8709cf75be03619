import { OrchestratorError } from '../model/orchestrator-error.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { jsonText } from '../wire/json-text.ts';
import { type ChosenType, chooseType, chosen, essenceOf, type Format } from '../wire/media-types.ts';
import { xmlText } from '../wire/xml-text.ts';
import { emptyReply, headerOf, type Reply, type Request } from './exchange.ts';

export const legacyModule = { name: '', namespace: 'http://tail-f.com/ns/rest', prefix: 'y' };

const errorModule = { name: '', namespace: 'http://tail-f.com/ns/tailf-rest-error', prefix: '' };

/** Headers of every legacy reply; the Server header is empty. */
export const legacyHeaders = { Server: '' } as const;

/** A legacy reply with a body, whose JSON has bare 64-bit numbers. */
export function legacyContentReply(
  status: number,
  content: Content,
  { mediaType, format }: ChosenType,
  headers: Readonly<Record<string, string>>,
): Reply {
  const body = format === 'json' ? jsonText([content], { bareLongNumbers: true }) : xmlText([content]);
  return { status, headers: { 'Content-Type': mediaType, ...headers, ...legacyHeaders }, body };
}

/** Errors of NSO 5.3: an absent resource is 404 without a body, nearly all others are 400 malformed-message. */
export function legacyErrorReply(error: OrchestratorError, request: Request): Reply {
  const headers = { ...error.headers, ...legacyHeaders };
  const isPatch = error.message.startsWith('patch to');
  if (error.status === 404 && !isPatch) return emptyReply(404, headers);
  const isCoarse = error.status === 400 || error.status >= 500 || isPatch;
  const build = contentOf(errorModule);
  const details = [
    build.leaf('error-message', error.message),
    ...(error.path === undefined || error.path === '' ? [] : [build.leaf('error-path', error.path)]),
    build.leaf('error-tag', isCoarse ? 'malformed-message' : error.tag),
    build.leaf('error-type', error.type),
  ];
  const content = build.container('errors', [build.list('error', [details])]);
  return legacyContentReply(isCoarse ? 400 : error.status, content, errorType(error, request), headers);
}

function errorType(error: OrchestratorError, request: Request): ChosenType {
  if (error.status === 406) return chosen('application/vnd.yang.data+xml');
  const wanted = headerOf(request, 'accept') ?? headerOf(request, 'content-type') ?? '';
  return chosen(`application/vnd.yang.data+${wantsJson(request, wanted) ? 'json' : 'xml'}`);
}

/** Whether the reply is JSON: by `?format=`, else by the Accept header. */
function wantsJson({ query }: Request, accept: string): boolean {
  const format = /(?:^|&)format=(json|xml)(?:&|$)/u.exec(query)?.[1];
  return format === undefined ? accept.includes('json') : format === 'json';
}

/** @throws OrchestratorError 406 where the client accepts none of `offered`. */
export function negotiatedLegacy(request: Request, offered: readonly string[]): ChosenType {
  const format = /(?:^|&)format=(json|xml)(?:&|$)/u.exec(request.query)?.[1];
  const accept = headerOf(request, 'accept');
  const type = chooseType(
    format === undefined ? accept : '*/*',
    format === undefined ? offered : offered.filter((each) => each.endsWith(format)),
  );
  if (type !== undefined) return type;
  const message = `No acceptable media type. Got: ${accept ?? ''}. Use one of: ${offered.join(', ')}.`;
  throw new OrchestratorError({ status: 406, tag: 'invalid-value', message, type: 'protocol' });
}

/** @throws OrchestratorError 415 for a body of a type that the legacy API does not accept. */
export function legacyBodyFormat(request: Request): Format {
  const essence = essenceOf(headerOf(request, 'content-type'));
  const isKnown = /^application\/vnd\.yang\.(api|datastore|data|collection|operation)\+(xml|json)$/u.test(essence);
  if (request.body === '' || isKnown) return essence.endsWith('json') ? 'json' : 'xml';
  const message = `Unsupported media type: ${essence === '' ? 'none' : essence}. Use application/vnd.yang.data+json or +xml.`;
  throw new OrchestratorError({ status: 415, tag: 'malformed-message', message, type: 'protocol' });
}
