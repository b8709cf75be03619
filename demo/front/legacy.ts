import { invokeAction } from '../actions/invoke-action.ts';
import { legacyPathText, resolveLegacyPath, type Target } from '../model/instance-path.ts';
import { methodNotAllowed, notFound, OrchestratorError } from '../model/orchestrator-error.ts';
import type { ActionNode } from '../model/schema.ts';
import type { Orchestrator } from '../model/transaction.ts';
import { rootSchema } from '../model/yang-modules.ts';
import { readActionInput } from '../wire/action-input.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { legacyTypes } from '../wire/media-types.ts';
import { allowedParameters, readParameters } from '../wire/query-parameters.ts';
import { writeConfig } from './config-write.ts';
import { emptyReply, mayUse, originOf, type Reply, type Request } from './exchange.ts';
import { readLegacy } from './legacy-read.ts';
import {
  legacyBodyFormat,
  legacyContentReply,
  legacyErrorReply,
  legacyHeaders,
  legacyModule,
  negotiatedLegacy,
} from './legacy-reply.ts';
import { unmetPrecondition } from './preconditions.ts';

const allowedMethods = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT';

/** Answers a request below `/api` like NSO up to 5.3, with the error bodies and statuses of that version. */
export function answerLegacy(orchestrator: Orchestrator, request: Request): Reply {
  try {
    if (!mayUse(request)) {
      throw new OrchestratorError({ status: 403, tag: 'access-denied', message: 'access denied' });
    }
    return route(orchestrator, request);
  } catch (error) {
    if (error instanceof OrchestratorError) return legacyErrorReply(error, request);
    throw error;
  }
}

function route(orchestrator: Orchestrator, request: Request): Reply {
  const [resource = '', ...rest] = request.path
    .slice('/api'.length)
    .split('/')
    .filter((segment) => segment !== '');
  switch (resource) {
    case '':
      return answerApi(request);
    case 'running':
    case 'config':
    case 'operational':
    case 'operations':
      return answerDatastore(orchestrator, request, resource, rest);
    case 'rollbacks':
      if (rest.length > 0) throw notFound();
      return answerRollbacks(orchestrator, request);
    default:
      throw notFound();
  }
}

function answerApi(request: Request): Reply {
  requireRead(request);
  const build = contentOf(legacyModule);
  const below = ['config', 'running', 'operational', 'operations', 'rollbacks'].map((name) => build.container(name, []));
  const content = build.container('api', [build.leaf('version', '0.5'), ...below]);
  return legacyContentReply(200, content, negotiatedLegacy(request, legacyTypes('api')), { Allow: 'GET, HEAD, OPTIONS' });
}

/** The rollback files. In JSON each is a member named `file`, so that one object has that name several times. */
function answerRollbacks({ datastore }: Orchestrator, request: Request): Reply {
  requireRead(request);
  const build = contentOf(legacyModule);
  const files = datastore.rollbacks.map(({ creator, date, label, comment }, id) => [
    build.leaf('name', String(id)),
    build.leaf('creator', creator),
    build.leaf('date', date),
    build.leaf('via', 'rest'),
    build.leaf('label', label),
    build.leaf('comment', comment),
  ]);
  const content = build.container('rollbacks', [{ ...build.list('file', files), repeatsName: true }]);
  const type = negotiatedLegacy(request, [...legacyTypes('api'), ...legacyTypes('data')]);
  return legacyContentReply(200, content, type, { Allow: 'GET, HEAD, OPTIONS' });
}

function requireRead({ method }: Request): void {
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed('GET, HEAD, OPTIONS');
}

function answerDatastore(orchestrator: Orchestrator, request: Request, datastore: string, rest: readonly string[]): Reply {
  if (rest.length === 1 && rest[0] === '_rollback') return answerRollback(orchestrator, request);
  const target = resolveLegacyPath(rootSchema, rest.join('/'));
  if (target.action !== undefined) return answerAction(orchestrator, request, target, target.action);
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return readLegacy(orchestrator, request, target, datastore);
    case 'OPTIONS':
      return emptyReply(200, { Allow: allowedMethods, ...legacyHeaders });
    default:
      if (datastore === 'operational' || datastore === 'operations') throw methodNotAllowed('GET, HEAD, OPTIONS');
      return answerWrite(orchestrator, request, target, datastore);
  }
}

/** `POST /api/running/_rollback` with `<file>0</file>` or `{"file": 0}`. */
function answerRollback(orchestrator: Orchestrator, request: Request): Reply {
  const target = resolveLegacyPath(rootSchema, 'rollback-files/_operations/apply-rollback-file');
  const { action } = target;
  if (action === undefined || request.method !== 'POST') throw methodNotAllowed('POST');
  const file = /<file>\s*(\d+)\s*<\/file>/u.exec(request.body)?.[1] ?? /"file"\s*:\s*"?(\d+)/u.exec(request.body)?.[1];
  invokeAction({ orchestrator, target, action, input: { id: file ?? 'none' }, user: request.user.name });
  return emptyReply(204, { Allow: 'POST', ...legacyHeaders });
}

function answerAction(orchestrator: Orchestrator, request: Request, target: Target, action: ActionNode): Reply {
  if (request.method !== 'POST') throw methodNotAllowed('POST');
  const type = negotiatedLegacy(request, [...legacyTypes('operation'), ...legacyTypes('data'), ...legacyTypes('api')]);
  const input = readActionInput(action, request.body, legacyBodyFormat(request));
  const output = invokeAction({ orchestrator, target, action, input, user: request.user.name });
  if (output === 'no-output') return emptyReply(204, { Allow: 'POST', ...legacyHeaders });
  const children: readonly Content[] = output === 'empty-object' ? [] : output;
  return legacyContentReply(200, contentOf(action.module).container('output', children), type, { Allow: 'POST' });
}

function answerWrite(orchestrator: Orchestrator, request: Request, target: Target, datastore: string): Reply {
  const type = negotiatedLegacy(request, [...legacyTypes('data'), ...legacyTypes('datastore'), ...legacyTypes('api')]);
  const parameters = readParameters(request.query, allowedParameters.legacyWrite);
  const bodyFormat = legacyBodyFormat(request);
  const unmet = unmetPrecondition(request, orchestrator.datastore);
  if (unmet !== undefined) return unmet;
  const { method, body, user } = request;
  if (!['DELETE', 'PATCH', 'POST', 'PUT'].includes(method)) throw methodNotAllowed(allowedMethods);
  const { status, created, content } = writeConfig(orchestrator, {
    method,
    target,
    body,
    bodyFormat,
    parameters,
    user: user.name,
  });
  const headers = {
    Allow: allowedMethods,
    ETag: `"${orchestrator.datastore.transactionId}"`,
    'Last-Modified': orchestrator.datastore.lastModified.toUTCString(),
    ...(created === undefined ? {} : { Location: `${originOf(request)}/api/${datastore}${legacyPathText(created)}` }),
  };
  if (content === undefined) return emptyReply(status, { ...headers, ...legacyHeaders });
  return legacyContentReply(status, content, type, headers);
}

/** Whether a path is of the legacy API, which decides the form of a 401. */
export function isLegacyPath(path: string): boolean {
  return path === '/api' || path.startsWith('/api/');
}
