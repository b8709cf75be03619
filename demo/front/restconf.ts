import { invokeAction } from '../actions/invoke-action.ts';
import { pathText, resolvePath, type Target } from '../model/instance-path.ts';
import { methodNotAllowed, notFound, OrchestratorError } from '../model/orchestrator-error.ts';
import type { ActionNode } from '../model/schema.ts';
import type { Orchestrator } from '../model/transaction.ts';
import { rootSchema } from '../model/yang-modules.ts';
import { readActionInput } from '../wire/action-input.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { essenceOf, type Format, restconfTypes } from '../wire/media-types.ts';
import { allowedParameters, type Parameters, readCommitParameters, readParameters } from '../wire/query-parameters.ts';
import { writeConfig } from './config-write.ts';
import { emptyReply, headerOf, mayUse, originOf, type Reply, type Request } from './exchange.ts';
import { unmetPrecondition, validators } from './preconditions.ts';
import { readRestconf } from './restconf-read.ts';
import { contentReply, negotiated, restconfErrorReply, restconfModule } from './restconf-reply.ts';

const allowedMethods = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';

/** Answers a request below `/restconf` like NSO 6.x; every error has a RESTCONF error body. */
export function answerRestconf(orchestrator: Orchestrator, request: Request): Reply {
  try {
    refuseByRights(request);
    return route(orchestrator, request);
  } catch (error) {
    if (error instanceof OrchestratorError) return restconfErrorReply(error, request);
    throw error;
  }
}

/** NACM denies a write with 403 (RFC 8341, 3.2.5 and RFC 8040, 4.x). A denied read would be filtered instead; here it is denied too. */
function refuseByRights(request: Request): void {
  if (mayUse(request)) return;
  throw new OrchestratorError({ status: 403, tag: 'access-denied', message: 'access denied' });
}

function route(orchestrator: Orchestrator, request: Request): Reply {
  const [resource = '', ...rest] = request.path
    .slice('/restconf'.length)
    .split('/')
    .filter((segment) => segment !== '');
  switch (resource) {
    case '':
      return answerRoot(request, '');
    case 'yang-library-version':
      return answerRoot(request, resource);
    case 'data':
      return answerData(orchestrator, request, rest.join('/'));
    case 'ds':
      return answerDatastore(orchestrator, request, rest);
    case 'operations':
      return answerOperation(orchestrator, request, rest.join('/'));
    default:
      throw notFound();
  }
}

/** The API resource (RFC 8040, 3.3). */
function answerRoot(request: Request, member: string): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
  const build = contentOf(restconfModule);
  const version = build.leaf('yang-library-version', '2019-01-04');
  const whole = build.container('restconf', [build.container('data', []), build.container('operations', []), version]);
  return contentReply(200, member === '' ? whole : version, negotiated(request, restconfTypes));
}

/** `/restconf/ds/…` (RFC 8527): running and intended have the configuration, operational has all data. */
function answerDatastore(orchestrator: Orchestrator, request: Request, [name = '', ...rest]: readonly string[]): Reply {
  if (name === 'ietf-datastores:running') return answerData(orchestrator, request, rest.join('/'), 'config');
  if (name !== 'ietf-datastores:operational') throw notFound();
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
  return answerData(orchestrator, request, rest.join('/'));
}

function answerData(orchestrator: Orchestrator, request: Request, path: string, content: 'all' | 'config' = 'all'): Reply {
  const target = resolvePath(rootSchema, path, false);
  if (target.action !== undefined) return answerAction(orchestrator, request, target, target.action);
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return readRestconf(orchestrator, request, target, content);
    case 'OPTIONS':
      return emptyReply(200, { Allow: allowedMethods, 'Accept-Patch': restconfTypes.join(', ') });
    case 'DELETE':
    case 'PATCH':
    case 'POST':
    case 'PUT':
      return answerWrite(orchestrator, request, target);
    default:
      throw methodNotAllowed(allowedMethods);
  }
}

function answerOperation(orchestrator: Orchestrator, request: Request, path: string): Reply {
  if (path === '') {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
    return contentReply(200, contentOf(restconfModule).container('operations', []), negotiated(request, restconfTypes));
  }
  const target = resolvePath(rootSchema, path, true);
  if (target.action === undefined) throw notFound();
  return answerAction(orchestrator, request, target, target.action);
}

function answerAction(orchestrator: Orchestrator, request: Request, target: Target, action: ActionNode): Reply {
  if (request.method === 'OPTIONS') return emptyReply(200, { Allow: 'OPTIONS, POST' });
  if (request.method !== 'POST') throw methodNotAllowed('OPTIONS, POST');
  const type = negotiated(request, restconfTypes);
  readParameters(request.query, allowedParameters.action);
  const input = readActionInput(action, request.body, bodyFormat(request));
  const output = invokeAction({ orchestrator, target, action, input, user: request.user.name });
  if (output === 'no-output') return emptyReply(204);
  if (output === 'empty-object' && type.format === 'json') return contentReply(200, undefined, type);
  const children: readonly Content[] = output === 'empty-object' ? [] : output;
  return contentReply(200, contentOf(action.module).container('output', children), type);
}

function answerWrite(orchestrator: Orchestrator, request: Request, target: Target): Reply {
  const type = negotiated(request, restconfTypes);
  const parameters = writeParameters(orchestrator, request);
  const format = bodyFormat(request);
  const unmet = unmetPrecondition(request, orchestrator.datastore);
  if (unmet !== undefined) return unmet;
  const { method, body, user } = request;
  const { status, created, content } = writeConfig(orchestrator, {
    method,
    target,
    body,
    bodyFormat: format,
    parameters,
    user: user.name,
  });
  const headers = {
    ...validators(orchestrator.datastore, type.format),
    ...(created === undefined ? {} : { Location: `${originOf(request)}/restconf/data${pathText(created)}` }),
  };
  return content === undefined ? emptyReply(status, headers) : contentReply(status, content, type, headers);
}

/** A server of an earlier version ignores the header, as every header that it does not know. */
function writeParameters({ release }: Orchestrator, request: Request): Parameters {
  if (release !== '6.7') return readParameters(request.query, allowedParameters.write);
  return readCommitParameters(request.query, headerOf(request, 'x-cisco-nso-commit-params'));
}

/** @throws OrchestratorError 415 for a body of a type that RESTCONF does not accept. */
function bodyFormat(request: Request): Format {
  const essence = essenceOf(headerOf(request, 'content-type'));
  if (request.body === '' || restconfTypes.some((type) => type === essence)) return essence.endsWith('json') ? 'json' : 'xml';
  const message = `Unsupported media type: ${essence === '' ? 'none' : essence}. Use one of: ${restconfTypes.join(', ')}.`;
  throw new OrchestratorError({ status: 415, tag: 'malformed-message', message, type: 'protocol' });
}
