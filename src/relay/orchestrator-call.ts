import type { AdapterCall, AdapterInstance } from '#adapters/adapter-instance.ts';
import type { CommitStamp, Stamps } from '#adapters/commit-stamps.ts';
import type { CallerIdentity } from '#adapters/credentials/caller-identity.ts';
import { noDryRun } from '#adapters/dry-run-proof.ts';
import type { ChangeCall, CommitForm, DryRunFormat, NoDryRun, WrittenDryRun } from '#adapters/dry-runs.ts';
import { readRestconfError, saidBy } from '#adapters/restconf.ts';
import { GatewayError, type UpstreamAnswer } from '#base/gateway-error.ts';
import { defined } from '#base/text/defined.ts';
import type { TraceContext } from '#base/trace-context.ts';
import { headerValue, type OutboundCall, type UpstreamReply } from '#outbound/call/outbound-call.ts';
import { isRedirect } from '#outbound/policy/redirect.ts';
import { inJson, noSeal, openHeaders, openPath, orchestratorTexts, type Seal } from './call-seal.ts';
import type { OrchestratorParams, PassedOnHeaders } from './orchestrator-request.ts';
import type { CallOperation, RelayedCall, RuleDecision } from './relayed-call.ts';
import { decideDestination } from './relayed-path.ts';
import { headersByName, upstreamHeaders } from './reply-headers.ts';
import { readableBody } from './reply-text.ts';
import { isEmptyObject, writeRequestBody } from './request-body.ts';

type OrchestratorOperation = Exclude<CallOperation, 'restCall'>;

interface OrchestratorCall {
  readonly operation: OrchestratorOperation;
  readonly adapter: AdapterInstance;
  readonly params: OrchestratorParams;
  readonly method: OutboundCall['method'];
  readonly passedOn: PassedOnHeaders;
  /** The caller's exact bytes. */
  readonly body?: Buffer | undefined;
  readonly passesErrors?: boolean | undefined;
  /** Only asks the orchestrator what the call would do. */
  readonly dryRun?: DryRunFormat | undefined;
  readonly trace: TraceContext;
  readonly userAgent: string;
  readonly seal?: Seal | undefined;
}

/** An action is repeated only where no byte has left. */
const operations = {
  restAction: { retry: 'action', passesErrors: false },
  restQuery: { retry: 'query', passesErrors: false },
  restRequest: { retry: 'action', passesErrors: true },
} as const satisfies Record<OrchestratorOperation, { retry: 'action' | 'query'; passesErrors: boolean }>;

/** Holds its slot until its scope ends. Throws 400 where the body does not fit its media type. */
export function orchestratorCall(call: OrchestratorCall): RelayedCall {
  const { operation, adapter, method, seal = noSeal } = call;
  const { path } = call.params;
  const { retry } = operations[operation];
  const { passesErrors = operations[operation].passesErrors } = call;
  const body = messageBody(call);
  if (call.dryRun !== undefined) {
    const headers = (accept: string, type: string | undefined, passedOn: PassedOnHeaders): readonly string[] =>
      requestHeaders({ ...call, passedOn }, accept, type);
    return dryRunCall({ ...call, path, contentType: contentType(call), body, headers }, call.dryRun);
  }
  const change = { ...call, path, contentType: contentType(call), body };
  const stamps = adapter.stamps(change) ? adapter.kind.stamps : undefined;
  return {
    operation,
    method,
    timeLimit: adapter.totalLimit,
    body: body && { bytes: body, contentType: contentType(call) },
    callers: adapter.callers,
    stamp: stamps && { hasOwnLabel: stamps.hasLabel(change) },
    decide() {
      const decision = decideDestination(adapter, method, path);
      if (!decision.allowed) return decision;
      if (stamps === undefined) refuseLabel(change, adapter);
      else refuseUnstampable(change, stamps);
      const refusal = seal.refusal(orchestratorTexts(call), { adapter: adapter.name });
      return refusal === undefined ? decision : { allowed: false, rule: decision.rule, refusal };
    },
    hold: () => adapter.hold(),
    async send(scope, record) {
      const opened = open(call, body, seal);
      const { stamp, identity } = record;
      if (stamps === undefined) refuseLabel({ ...change, ...opened }, adapter);
      const written = stamps && stamp && stampedForNode({ ...change, ...opened }, stamp, stamps);
      const reply = await adapter.perform({ method, retry, identity, ...opened, ...(written && { written }) }, scope);
      record.note({ upstreamStatus: reply.status });
      if (passesErrors) refuseRedirect(reply);
      else refuseErrorStatus(reply, identity);
      return reply;
    },
  };
}

/** Of a call that gets no stamp: a label of another record would name that one's person. */
function refuseLabel(call: ChangeCall, adapter: AdapterInstance): void {
  const detail = adapter.labelRefusal(call);
  if (detail === undefined) return;
  throw new GatewayError('invalid-request', `The adapter instance stamps its commits, and this call cannot leave: ${detail}.`, {
    errors: [{ pointer: '/params/path', detail }],
  });
}

function refuseUnstampable(change: ChangeCall, stamps: Stamps): void {
  const detail = stamps.refusal(change);
  if (detail === undefined) return;
  throw new GatewayError(
    'invalid-request',
    `The adapter instance stamps its commits, and this call cannot get a stamp: ${detail}.`,
    {
      errors: [{ pointer: '/params/path', detail }],
    },
  );
}

/** `change`: opened. */
function stampedForNode(
  change: ChangeCall & { readonly headers: readonly string[] },
  stamp: CommitStamp,
  stamps: Stamps,
): NonNullable<AdapterCall['written']> {
  refuseUnstampable(change, stamps);
  return {
    for(form) {
      const { path, passedOn } = stamps.stamp(change, stamp, form);
      const merged = Object.keys(change.passedOn).filter((name) => !(name in passedOn));
      const headers = change.headers.filter((_, index, all) => !merged.includes(all[index - (index % 2)] ?? ''));
      return { path, headers, body: change.body };
    },
    unproven: (missing, host) =>
      new GatewayError(
        'adapter-unavailable',
        `The adapter instance stamps its commits, and ${host} does not say how it takes a stamp: ${missing}. The call was not executed.`,
        { headers: { 'Retry-After': '1' } },
      ),
  };
}

/** The last step before the call leaves. Judges the resulting path again. */
function open(
  call: OrchestratorCall,
  body: Buffer | undefined,
  seal: Seal,
): { readonly path: string; readonly headers: readonly string[]; readonly body: Buffer | undefined } {
  const { adapter, method, params } = call;
  const refusal = seal.refusal(orchestratorTexts(call), { adapter: adapter.name });
  if (refusal !== undefined) throw refusal;
  const path = openPath(params.path, seal);
  const decision = decideDestination(adapter, method, path);
  if (!decision.allowed) throw decision.refusal;
  const headers = openHeaders(requestHeaders(call, call.params.accept, body && contentType(call)), seal);
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

function requestHeaders(call: OrchestratorCall, accept: string, type: string | undefined): readonly string[] {
  const headers = ['Accept', accept, 'User-Agent', call.userAgent, 'traceparent', call.trace.traceparent];
  if (type !== undefined) headers.push('Content-Type', type);
  for (const [name, value] of Object.entries(call.passedOn)) headers.push(name, value);
  return headers;
}

interface ChangingCall extends ChangeCall {
  readonly operation: CallOperation;
  readonly adapter: AdapterInstance;
  /** With this Accept and Content-Type, and what is passed on. */
  readonly headers: (accept: string, contentType: string | undefined, passedOn: PassedOnHeaders) => readonly string[];
}

type Written = WrittenDryRun | NoDryRun;

/** Without a dry run of the call, or proof of its node, fails with `no-dry-run`. */
function dryRunCall(call: ChangingCall, format: DryRunFormat): RelayedCall {
  const { operation, adapter, method, path, body } = call;
  const { dryRuns } = adapter.kind;
  const write = (form: CommitForm): Written =>
    dryRuns?.write(call, { format, form }) ?? {
      none: `the adapter instance "${adapter.name}" is of kind ${adapter.kind.name}, which has no dry runs`,
    };
  const written = { params: write('params'), parameters: write('parameters') };
  return {
    operation,
    method,
    timeLimit: adapter.totalLimit,
    callers: adapter.callers,
    decide: () => decide(call, Object.values(written)),
    hold: () => adapter.hold(),
    async send(scope, record) {
      if (dryRuns === undefined) throw new Error('A call without a dry run passed its decision.');
      const forNode = {
        for(form: CommitForm) {
          const made = written[form];
          if ('none' in made) return refusalOf(made);
          return { ...made, headers: call.headers(dryRuns.accept, made.body && made.contentType, made.passedOn) };
        },
        unproven: (missing: string, host: string) => noDryRun(`No dry run was sent to ${host}: ${missing}.`),
      };
      const { identity } = record;
      const asked = { method, path, headers: [], body, retry: 'action', identity, written: forNode } as const;
      const reply = await adapter.perform(asked, scope);
      record.note({ upstreamStatus: reply.status });
      return reply;
    },
  };
}

/** Path rights judge the call itself. A node may have a dry run that another one does not have. */
function decide({ adapter, method, path }: ChangingCall, written: readonly Written[]): RuleDecision {
  const decision = decideDestination(adapter, method, path);
  if (!decision.allowed) return decision;
  const refusals = written.filter((one): one is NoDryRun => 'none' in one && one.ofProven !== true);
  const [first] = refusals;
  if (first === undefined || refusals.length < written.length) return decision;
  return { allowed: false, rule: 'no dry run', refusal: refusalOf(first) };
}

function refusalOf({ none }: NoDryRun): GatewayError {
  return noDryRun(`There is no dry run of this call: ${none}.`);
}

/** A redirect, or 400 and above. */
function refuseErrorStatus(reply: UpstreamReply, identity: CallerIdentity | undefined): void {
  refuseRedirect(reply);
  if (reply.status < 400) return;
  const error = readRestconfError(reply);
  reply.discard();
  throw new GatewayError('upstream-error', `${saidBy(reply, error)}${aboutCredentials(reply.status, identity)}`, {
    ...aboutReply(reply),
    logged: `The orchestrator answered ${reply.status}${knownTag(error?.tag)}.`,
  });
}

/** RFC 8040 section 7. The log has no other text of an upstream. */
function knownTag(tag: string | undefined): string {
  return tag !== undefined && errorTags.has(tag) ? ` (${tag})` : '';
}

const errorTags: ReadonlySet<string> = new Set(
  (
    'in-use invalid-value too-big missing-attribute bad-attribute unknown-attribute missing-element bad-element unknown-element ' +
    'unknown-namespace access-denied lock-denied resource-denied rollback-failed data-exists data-missing ' +
    'operation-not-supported operation-failed partial-operation malformed-message'
  ).split(' '),
);

function aboutCredentials(status: number, identity: CallerIdentity | undefined): string {
  if (status !== 401 && (status !== 403 || identity === undefined)) return '';
  return identity === undefined ? notYours : ` The call was sent as ${identity.name}.`;
}

const notYours =
  ' It refuses the credentials of the adapter instance, which the operator of the gateway configures; they are not yours.';

/** The operator's credentials are for the configured addresses. */
function refuseRedirect(reply: UpstreamReply): void {
  if (!isRedirect(reply.status)) return;
  reply.discard();
  throw new GatewayError(
    'redirect-refused',
    `The orchestrator answered with a redirect (status ${reply.status}), which the gateway does not follow. Call the address of the redirect, or have the adapter's url changed.`,
    aboutReply(reply),
  );
}

/** With the X-Upstream-* headers of a success. */
function aboutReply(reply: UpstreamReply): Pick<GatewayError, 'headers'> & { readonly upstream: UpstreamAnswer } {
  const type = headerValue(reply.headers, 'content-type');
  const { text, base64 } = readableBody(reply);
  const upstream = defined({ status: reply.status, contentType: type, body: text });
  return { upstream, headers: headersByName(upstreamHeaders(reply, base64)) };
}
