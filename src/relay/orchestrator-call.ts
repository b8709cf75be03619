import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import type { DryRunFormat } from '#adapters/dry-runs.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import { dryRunCall } from './dry-run-call.ts';
import { refuseErrorStatus, refuseRedirect } from './orchestrator-errors.ts';
import type { OrchestratorParams, PassedOnHeaders } from './orchestrator-request.ts';
import { decideDestination } from './path-decision.ts';
import type { CallOperation, RelayedCall } from './relayed-call.ts';
import { isEmptyObject, writeRequestBody } from './request-body.ts';
import { inJson, noSeal, orchestratorTexts, type Seal } from './seal.ts';
import { openedHeaders, openedPath } from './sealed-rest-call.ts';

type OrchestratorOperation = Exclude<CallOperation, 'restCall'>;

interface OrchestratorCall {
  readonly operation: OrchestratorOperation;
  readonly adapter: AdapterInstance;
  readonly params: OrchestratorParams;
  readonly method: OutboundCall['method'];
  readonly passedOn: PassedOnHeaders;
  /** The caller's exact bytes. */
  readonly body?: Buffer | undefined;
  /** See Call. */
  readonly passesErrors?: boolean | undefined;
  /** Set where the orchestrator is asked what the call would do; nothing else is sent then. */
  readonly dryRun?: DryRunFormat | undefined;
  readonly trace: TraceContext;
  readonly userAgent: string;
  /** The secrets that the call may carry. */
  readonly seal?: Seal | undefined;
}

/** A query may be repeated; an action only where no byte of it has left. */
const operations = {
  restAction: { retry: 'action', passesErrors: false },
  restQuery: { retry: 'query', passesErrors: false },
  restRequest: { retry: 'action', passesErrors: true },
} as const satisfies Record<OrchestratorOperation, { retry: 'action' | 'query'; passesErrors: boolean }>;

/** One call to an orchestrator. It holds its slot until its scope ends. Throws 400 where its body does not fit its media type. */
export function orchestratorCall(call: OrchestratorCall): RelayedCall {
  const { operation, adapter, method, seal = noSeal } = call;
  const { path } = call.params;
  const { retry } = operations[operation];
  const { passesErrors = operations[operation].passesErrors } = call;
  const body = messageBody(call);
  if (call.dryRun !== undefined) {
    const headers = (accept: string, type: string | undefined): readonly string[] => requestHeaders(call, accept, type);
    return dryRunCall({ ...call, path, contentType: contentType(call), body, headers }, call.dryRun);
  }
  return {
    operation,
    method,
    timeLimit: adapter.totalLimit,
    decide() {
      const decision = decideDestination(adapter, method, path);
      const refusal = decision.allowed ? seal.refusal(orchestratorTexts(call), { adapter: adapter.name }) : undefined;
      return refusal === undefined ? decision : { allowed: false, rule: decision.rule, refusal };
    },
    hold: () => adapter.hold(),
    async send(scope, record) {
      const reply = await adapter.perform({ method, retry, ...opened(call, body, seal) }, scope);
      record.note({ upstreamStatus: reply.status });
      if (passesErrors) refuseRedirect(reply);
      else refuseErrorStatus(reply);
      return reply;
    },
  };
}

/** The secrets go in as the last thing before the call leaves. The path that comes of it is judged again. */
function opened(
  call: OrchestratorCall,
  body: Buffer | undefined,
  seal: Seal,
): { readonly path: string; readonly headers: readonly string[]; readonly body: Buffer | undefined } {
  const { adapter, method, params } = call;
  const refusal = seal.refusal(orchestratorTexts(call), { adapter: adapter.name });
  if (refusal !== undefined) throw refusal;
  const path = openedPath(params.path, seal);
  const decision = decideDestination(adapter, method, path);
  if (!decision.allowed) throw decision.refusal;
  const headers = openedHeaders(headersOf(call, body), seal);
  const text = call.body?.toString() ?? '';
  const openedText = seal.open(text, inJson);
  return { path, headers, body: openedText === text ? body : writeRequestBody(Buffer.from(openedText), contentType(call)) };
}

function contentType(call: OrchestratorCall): string {
  return call.params.contentType ?? call.adapter.defaultContentType(call.params.path);
}

function messageBody(call: OrchestratorCall): Buffer | undefined {
  if (call.body === undefined) return undefined;
  if (call.method === 'POST' && !call.adapter.kind.sendsEmptyObject && isEmptyObject(call.body)) return undefined;
  return writeRequestBody(call.body, contentType(call));
}

function headersOf(call: OrchestratorCall, body: Buffer | undefined): readonly string[] {
  return requestHeaders(call, call.params.accept, body && contentType(call));
}

function requestHeaders(call: OrchestratorCall, accept: string, type: string | undefined): readonly string[] {
  const headers = ['Accept', accept, 'User-Agent', call.userAgent, 'traceparent', call.trace.traceparent];
  if (type !== undefined) headers.push('Content-Type', type);
  for (const [name, value] of Object.entries(call.passedOn)) headers.push(name, value);
  return headers;
}
