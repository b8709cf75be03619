import { createHash } from 'node:crypto';
import type { LimitReached } from '#base/limits.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { OutsideResult } from '../interpreter/state/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import type { LostStanding } from '../people/run-people.ts';
import type { PreparedCall } from './arguments.ts';
import { type CallingRun, type CallOutcome, type EntranceOptions, enterCallPath } from './call-entrance.ts';
import type { OpenApiOperation } from './described-operation.ts';
import type { DocumentThreads } from './document-threads.ts';
import { type HttpEndpoint, preparedRestCall } from './rest-arguments.ts';
import { failedResult, maxOutputSize, replyResult, tooLong } from './task-reply.ts';

export interface DocumentOptions extends EntranceOptions {
  readonly threads: DocumentThreads;
  readonly limitReached?: LimitReached;
}

export interface DocumentRequest {
  readonly run: CallingRun;
  readonly trace: TraceContext;
  readonly reference: string | undefined;
  readonly endpoint: HttpEndpoint;
}

interface TaskDocument {
  /** JSON text. */
  readonly json: string;
  /** Where it came from in the end. */
  readonly address: string;
}

/** `lost`: a person who answers for the run may not make the call, and nothing happened. */
export type Failed = { readonly result: OutsideResult } | { readonly lost: LostStanding };

/** Fetches a document by the way of restCall, with its redirects. YAML is converted. Throws `invalid-request` for an address that is none. */
export async function fetchDocumentOf(
  { endpoint, ...calling }: DocumentRequest,
  signal: AbortSignal,
  options: DocumentOptions,
): Promise<TaskDocument | Failed> {
  if (signal.aborted) return { result: { kind: 'aborted' } };
  const headers = { Accept: 'application/json, application/yaml;q=0.9, */*;q=0.8' };
  const prepared = preparedRestCall({
    ...endpoint,
    headers,
    verb: 'GET',
    output: 'raw',
    follows: true,
    accepts: (status) => status < 300,
  });
  // Where a rule asks people about it, no task waits: the run fails.
  const entering = { ...calling, call: prepared.call, asBytes: true, idempotent: undefined };
  const outcome = await enterCallPath(entering, signal, options);
  const failed = failedFetch(outcome, prepared);
  if (failed !== undefined) return failed;
  // In bytes, because the relay knows no type of YAML as text. Both formats are UTF-8 (RFC 8259, RFC 9512).
  const bytes = Buffer.from(outcome.kind === 'reply' ? outcome.reply.body : '', 'base64');
  if (outcome.kind !== 'reply' || bytes.length > maxOutputSize) {
    options.limitReached?.('documents');
    return { result: tooLong() };
  }
  const read = await options.threads.read(bytes, calling.run.principal.id);
  if ('json' in read) return { json: read.json, address: outcome.address ?? endpoint.uri };
  const error = standardError('validation', 'The document cannot be read', `It is neither JSON nor YAML: ${read.problem}.`);
  return { result: { kind: 'error', error } };
}

function failedFetch(outcome: CallOutcome, prepared: PreparedCall): Failed | undefined {
  if (outcome.kind === 'aborted') return { result: { kind: 'aborted' } };
  const lost = lostBy(outcome);
  if (lost !== undefined) return { lost };
  if (outcome.kind === 'failed') return { result: failedResult(outcome.failure) };
  const isRefused = outcome.kind === 'reply' && !prepared.accepts(outcome.reply.status);
  return isRefused ? { result: replyResult(prepared, outcome.reply) } : undefined;
}

export function lostBy(outcome: CallOutcome): LostStanding | undefined {
  if (outcome.kind !== 'failed' || outcome.failure.code !== 'delegation-lost') return undefined;
  return { by: 'delegation-lost', detail: outcome.failure.detail };
}

/** Documents of runs in memory. A gateway that takes a run over fetches its documents again. */
export interface TaskDocuments {
  /** Throws `invalid-request` where the document or the operation cannot be used. */
  findOperation(request: DocumentRequest, operationId: string, signal: AbortSignal): Promise<OpenApiOperation | Failed>;
}

interface KeptDocument extends TaskDocument {
  readonly operations: Map<string, OpenApiOperation>;
}

const maxDocuments = 16;
const maxOperations = 100;

export function createTaskDocuments(options: DocumentOptions): TaskDocuments {
  const kept = new Map<string, KeptDocument>();
  return {
    async findOperation(request, operationId, signal) {
      const { run } = request;
      // A hash, since an endpoint may have a secret.
      const key = createHash('sha256')
        .update(JSON.stringify([run.id, request.endpoint]))
        .digest('base64url');
      let document = kept.get(key);
      if (document === undefined) {
        const fetched = await fetchDocumentOf(request, signal, options);
        if (!('json' in fetched)) return fetched;
        // Its server may echo a secret, and the call goes to an address of the document.
        document = { ...fetched, json: run.shown(fetched.json), operations: new Map() };
      }
      kept.delete(key);
      kept.set(key, document);
      for (const oldest of kept.keys()) if (kept.size > maxDocuments) kept.delete(oldest);
      const { json, address, operations } = document;
      const known = operations.get(operationId);
      const operation = known ?? (await options.threads.find({ json, address }, operationId, run.principal.id));
      if (operations.size < maxOperations) operations.set(operationId, operation);
      return operation;
    },
  };
}
