import type { RequestProblem } from '#base/gateway-error.ts';
import { createProblemList, type ProblemList } from '#json/forms/problem-list.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import type { Checked } from './relayed-call.ts';
import { pathProblem } from './relayed-path.ts';
import { contentTypeProblem, isTextBody } from './request-body.ts';

/** Valid by the schemas of the routes. */
export interface OrchestratorParams {
  readonly path: string;
  readonly accept: string;
  readonly contentType?: string;
}

export interface RequestParams extends OrchestratorParams {
  readonly method: OutboundCall['method'];
}

/** Passed on to an orchestrator, in lower case. */
export const passedOnHeaders = ['if-match', 'if-unmodified-since', 'x-cisco-nso-commit-params'] as const;

export type PassedOnHeaders = Readonly<Partial<Record<(typeof passedOnHeaders)[number], string>>>;

interface CheckedParams<P> {
  readonly problems: readonly RequestProblem[];
  /** Absent with a problem. */
  readonly params?: Checked<P>;
}

/** What a schema cannot express; it reports wrong types. `body`: of the same request. */
export function checkParams<P extends OrchestratorParams>(
  params: Readonly<Record<string, unknown>>,
  body: Buffer | undefined,
): CheckedParams<P> {
  const problems = paramsProblems(params, body);
  return problems.length === 0 ? { problems, params: params as unknown as Checked<P> } : { problems };
}

function paramsProblems(params: Readonly<Record<string, unknown>>, body: Buffer | undefined): readonly RequestProblem[] {
  const { path, accept, contentType } = params;
  const list = createProblemList();
  if (typeof path === 'string') addProblem(list, 'path', pathProblem(path));
  if (typeof accept === 'string') addProblem(list, 'accept', acceptProblem(accept));
  if (typeof contentType === 'string') addProblem(list, 'contentType', sentTypeProblem(contentType, body));
  return list.problems;
}

function addProblem(list: ProblemList, name: keyof OrchestratorParams, detail: string | undefined): void {
  if (detail !== undefined) list.add(`/params/${name}`, detail);
}

function sentTypeProblem(contentType: string, body: Buffer | undefined): string | undefined {
  if (contentType === '') return 'is empty; name a media type, or leave it out';
  if (!/^[\t\x20-\x7e]+$/u.test(contentType)) return 'has a character that is not visible ASCII, space or tab';
  return body === undefined ? undefined : contentTypeProblem(contentType, isTextBody(body));
}

function acceptProblem(accept: string): string | undefined {
  if (!/^[\t\x20-\x7e]*$/u.test(accept)) return 'has a character that is not visible ASCII, space or tab';
  if (accept.trim() === '') return 'is empty; name the media type you want';
  if (/text\/event-stream/iu.test(accept))
    return 'asks for text/event-stream, which never ends; read the stream directly from the orchestrator';
  return undefined;
}
