import { createHash } from 'node:crypto';
import type { LimitReached } from '#base/limits.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import type { LostStanding } from '../run-people.ts';
import { type CallingRun, type Entered, type EntranceOptions, enterCallPath } from './call-entrance.ts';
import { failedResult } from './call-failure.ts';
import type { DocumentThreads } from './document-threads.ts';
import { authenticated, type HttpEndpoint } from './http-arguments.ts';
import type { OpenApiOperation } from './openapi-operation.ts';
import { persistently } from './persistent-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import { replyResult, tooLong } from './reply-output.ts';
import { preparedRestCall } from './rest-arguments.ts';
import { longestOutput } from './task-reply.ts';

/** What fetching a document needs. */
export interface DocumentOptions extends EntranceOptions {
  readonly threads: DocumentThreads;
  readonly limitReached?: LimitReached;
}

/** A document that a run needs. */
export interface DocumentRequest {
  readonly run: CallingRun;
  readonly trace: TraceContext;
  readonly reference: string | undefined;
  readonly endpoint: HttpEndpoint;
}

/** `address`: where it came from in the end. */
interface TaskDocument {
  /** JSON text. */
  readonly json: string;
  readonly address: string;
}

/** `lost`: somebody who answers for the run may not make the call, and nothing happened. */
export type Failed = { readonly result: OutsideResult } | { readonly lost: LostStanding };

type Fetched = TaskDocument | Failed;

/** Fetches a document by the way of restCall, with its redirects. YAML is converted. Throws `invalid-request` for an address that is none. */
export async function fetchDocumentOf(request: DocumentRequest, signal: AbortSignal, options: DocumentOptions): Promise<Fetched> {
  if (signal.aborted) return { result: { kind: 'aborted' } };
  const { endpoint, ...others } = request;
  const headers = { Accept: 'application/json, application/yaml;q=0.9, */*;q=0.8' };
  const prepared = preparedRestCall({
    ...authenticated(endpoint.authentication, headers),
    uri: endpoint.uri,
    verb: 'GET',
    output: 'raw',
    follows: true,
    accepts: (status) => status < 300,
  });
  // Where a rule asks people about it, no task waits: the run fails.
  const entering = { ...others, call: prepared.call, asBytes: true, idempotent: undefined };
  const entered = await persistently(() => enterCallPath(entering, signal, options), { signal, holds: () => true });
  return await documentOf(entered, prepared, {
    uri: endpoint.uri,
    tooLong() {
      options.limitReached?.('documents');
      return { result: tooLong() };
    },
    read: (bytes) => options.threads.read(bytes, request.run.principal.id),
  });
}

async function documentOf(
  entered: Entered,
  prepared: PreparedCall,
  {
    uri,
    tooLong: refused,
    read: readIn,
  }: {
    readonly uri: string;
    readonly tooLong: () => Failed;
    readonly read: (bytes: Buffer) => ReturnType<DocumentThreads['read']>;
  },
): Promise<Fetched> {
  if (entered.kind === 'tooLong') return refused();
  if (entered.kind === 'aborted') return { result: { kind: 'aborted' } };
  const lost = lostBy(entered);
  if (lost !== undefined) return { lost };
  if (entered.kind === 'failed') return { result: failedResult(entered.failure) };
  if (!prepared.accepts(entered.reply.status)) return { result: replyResult(prepared, entered.reply) };
  // In bytes, because the relay knows no type of YAML as text. Both formats are UTF-8 (RFC 8259, RFC 9512).
  const bytes = Buffer.from(entered.reply.body, 'base64');
  if (bytes.length > longestOutput) return refused();
  const read = await readIn(bytes);
  if ('json' in read) return { json: read.json, address: entered.address ?? uri };
  const error = standardError('validation', 'The document cannot be read', `It is neither JSON nor YAML: ${read.problem}.`);
  return { result: { kind: 'error', error } };
}

/** Why the call was refused for the people behind the run; undefined where it was not. */
export function lostBy(entered: Entered): LostStanding | undefined {
  if (entered.kind !== 'failed' || entered.failure.code !== 'delegation-lost') return undefined;
  return { by: 'delegation-lost', detail: entered.failure.detail };
}

/** Documents of runs in memory. A gateway that takes a run over fetches its documents again. */
export interface TaskDocuments {
  /** An operation of the document. Throws `invalid-request` where the document or the operation cannot be used. */
  findOperation(request: DocumentRequest, operationId: string, signal: AbortSignal): Promise<OpenApiOperation | Failed>;
}

/** The operations of a document that calls have used, by their ids. */
interface KeptDocument extends TaskDocument {
  readonly operations: Map<string, OpenApiOperation>;
}

/** Documents that are kept, and operations of one. */
const keptAtMost = 16;
const operationsAtMost = 100;

export function createTaskDocuments(options: DocumentOptions): TaskDocuments {
  const kept = new Map<string, KeptDocument>();
  return {
    async findOperation(request, operationId, signal) {
      const key = keyOf(request);
      const found = kept.get(key) ?? (await fetchedDocument(request, signal, options));
      if (!('operations' in found)) return found;
      kept.delete(key);
      kept.set(key, found);
      for (const oldest of kept.keys()) if (kept.size > keptAtMost) kept.delete(oldest);
      const { json, address, operations } = found;
      const operation =
        operations.get(operationId) ?? (await options.threads.find({ json, address }, operationId, request.run.principal.id));
      if (operations.size < operationsAtMost) operations.set(operationId, operation);
      return operation;
    },
  };
}

async function fetchedDocument(
  request: DocumentRequest,
  signal: AbortSignal,
  options: DocumentOptions,
): Promise<KeptDocument | Failed> {
  const fetched = await fetchDocumentOf(request, signal, options);
  if (!('json' in fetched)) return fetched;
  // Its server may echo a secret, and the call goes to an address of the document.
  return { ...fetched, json: request.run.shown(fetched.json), operations: new Map() };
}

/** A hash, since an endpoint may have a secret. */
function keyOf({ run, endpoint }: DocumentRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([run.id, endpoint]))
    .digest('base64url');
}
