import { createHash } from 'node:crypto';
import type { TraceContext } from '#base/trace-context.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { standardError } from '../interpreter/task-error.ts';
import type { LostStanding } from '../run-people.ts';
import { type CallingRun, type Entered, type EntranceOptions, enterCallPath } from './call-entrance.ts';
import { failedResult } from './call-failure.ts';
import { authenticated, type HttpEndpoint } from './http-arguments.ts';
import { jsonOfDocument } from './json-document.ts';
import { persistently } from './persistent-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import { replyResult, tooLong } from './reply-output.ts';
import { preparedRestCall } from './rest-arguments.ts';

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
export async function fetchDocumentOf(request: DocumentRequest, signal: AbortSignal, options: EntranceOptions): Promise<Fetched> {
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
  return documentOf(entered, prepared, endpoint.uri);
}

function documentOf(entered: Entered, prepared: PreparedCall, uri: string): Fetched {
  if (entered.kind === 'tooLong') return { result: tooLong() };
  if (entered.kind === 'aborted') return { result: { kind: 'aborted' } };
  const lost = lostBy(entered);
  if (lost !== undefined) return { lost };
  if (entered.kind === 'failed') return { result: failedResult(entered.failure) };
  const result = replyResult(prepared, entered.reply);
  if (result.kind !== 'ok') return { result };
  // In bytes, because the relay knows no type of YAML as text. Both formats are UTF-8 (RFC 8259, RFC 9512).
  const read = jsonOfDocument(Buffer.from(entered.reply.body, 'base64'));
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
  /** The value of the document. */
  find(request: DocumentRequest, signal: AbortSignal): Promise<KeptDocument | Failed>;
}

interface KeptDocument {
  readonly value: unknown;
  readonly address: string;
}

/** Documents that are kept. Their values take several times the size of their texts. */
const keptAtMost = 16;

export function createTaskDocuments(options: EntranceOptions): TaskDocuments {
  const kept = new Map<string, KeptDocument>();
  return {
    async find(request, signal) {
      const key = keyOf(request);
      const known = kept.get(key);
      const found = known ?? (await fetchDocumentOf(request, signal, options));
      if ('result' in found || 'lost' in found) return found;
      // Its server may echo a secret, and the call goes to an address of the document.
      const document =
        'value' in found ? found : { value: JSON.parse(request.run.shown(found.json)) as unknown, address: found.address };
      kept.delete(key);
      kept.set(key, document);
      for (const oldest of kept.keys()) if (kept.size > keptAtMost) kept.delete(oldest);
      return document;
    },
  };
}

/** A hash, since an endpoint may have a secret. */
function keyOf({ run, endpoint }: DocumentRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([run.id, endpoint]))
    .digest('base64url');
}
