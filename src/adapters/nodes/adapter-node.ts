import { GatewayError } from '#base/gateway-error.ts';
import { Semaphore } from '#base/semaphore.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import type { Probed } from '../adapter-kind.ts';
import type { FoundCommit } from '../commit-stamps.ts';
import { NoCredentials, sendAuthenticated } from '../credentials/credentials.ts';
import { noGuard } from '../credentials/refusal-guard.ts';
import { keepDryRunProof, maxProofSize, wholeAnswer } from '../dry-run-proof.ts';
import { createNodeBreaker, type NodeBreaker } from './node-breaker.ts';
import type { NodeCall, NodeNeeds, WrittenForNode } from './node-call.ts';
import { type AttemptResult, failedAtNode } from './node-failure.ts';
import { createPeopleWatch, createProber, probeLimit, type ToOutbound } from './node-prober.ts';
import { keepStanding, type NodeStanding } from './node-standing.ts';
import { type NodeTrial, recordTrial } from './node-trial.ts';

/** With its own connections and breaker. In NSO: a node of a high-availability group. */
export interface AdapterNode {
  /** Without credentials. */
  readonly url: string;
  readonly breaker: NodeBreaker;
  /** One for each call in flight. */
  readonly slots: Semaphore;
  standing(): NodeStanding;
  /** Where calls are sent as their callers: people whose groups the orchestrator itself decides too. By the last probe that looked. */
  namedPeople(): readonly string[];
  /** The caller releases the slot. */
  takeSlot(scope: CallScope): Promise<void> | undefined;
  /** Repeats a query after a 401 if that can help. Never rejects: fails as Sender.send, `adapter-unavailable` or `no-dry-run`. */
  send(call: NodeCall, scope: CallScope): Promise<AttemptResult>;
  /** For the breaker, by the last attempt at this node. */
  count(result: AttemptResult): Promise<void>;
  /** A failure appears in the standing. Never rejects. */
  probe(): Promise<void>;
  /** See `Stamps`. Never rejects. */
  findCommit(label: string): Promise<FoundCommit>;
  /** Over a new connection. Never rejects. */
  tryNow(): Promise<NodeTrial>;
  close(): Promise<void>;
}

/** Continues a sentence on the adapter instance. */
const withoutService =
  'sends each call as its caller, and has no account of its own (auth.service): there are no probes, no previews and no stamps';

export function createAdapterNode(options: NodeNeeds): AdapterNode {
  const { url, kind, instance, credentials, guard, clock } = options;
  const { name, timeouts } = instance;
  const breaker = createNodeBreaker({ name, url, ...instance.breaker, total: timeouts.total, clock });
  const standing = keepStanding({ auth: credentials.type, total: timeouts.total, clock, onCredentials: credentialsLog(options) });
  const sender = options.open();
  const outbound = callsTo(options);
  const prober = createProber(options, outbound);
  const people = credentials.type === 'caller' ? createPeopleWatch(options, prober) : undefined;
  const slots = new Semaphore(instance.concurrency);
  const probed = (found: Probed): void => {
    standing.probed(found);
    guard.probed(found.reply.status === 401, probe);
  };
  const probe = async (): Promise<void> => {
    try {
      probed(await prober.probe(sender));
      void people?.look(sender);
    } catch (failure) {
      standing.probeFailed(failure);
    }
  };
  const send = attemptsOf(options, { breaker, standing, sender, outbound, probe });

  return {
    url,
    breaker,
    slots,
    standing: () => standing.current(),
    takeSlot: (scope) => takeSlot(slots, instance, scope),
    send,
    async count(result) {
      await breaker.count(result);
      if (breaker.state === 'open' && failedAtNode(result, timeouts.total)) standing.broken();
    },
    async probe() {
      if (credentials.hasOwn && guard.takeProbe()) await probe();
    },
    namedPeople: () => people?.names() ?? [],
    findCommit: (label) => findCommit(label, options, send),
    async tryNow() {
      const record = recordTrial({ url, auth: credentials.type, clock, speaksRestconf: kind.name !== 'rest' });
      if (!credentials.hasOwn) return record.failed(new NoCredentials(`The adapter instance "${name}" ${withoutService}.`));
      const once = options.open((step) => record.done(step));
      try {
        const found = await prober.probe(once);
        probed(found);
        return record.answered(found);
      } catch (failure) {
        standing.probeFailed(failure);
        return record.failed(failure);
      } finally {
        await once.close();
      }
    },
    async close() {
      prober.stop();
      await sender.close();
    },
  };
}

function attemptsOf(
  { url, kind, credentials, guard, userAgent, clock }: NodeNeeds,
  parts: {
    readonly breaker: NodeBreaker;
    readonly standing: ReturnType<typeof keepStanding>;
    readonly sender: Sender;
    readonly outbound: ToOutbound;
    readonly probe: () => Promise<void>;
  },
): AdapterNode['send'] {
  const { breaker, standing, sender, outbound, probe } = parts;
  const attempt = async (call: NodeCall, scope: CallScope): Promise<AttemptResult> => {
    let ended = (): void => {};
    try {
      const written = call.written === undefined ? call : await writeFor(call, call.written, scope);
      if (written instanceof GatewayError) return { failure: written };
      const { identity, method } = call;
      const guarding = identity === undefined ? guard : noGuard;
      ended = await guarding.admit(scope);
      const send = (headers: readonly string[]): Promise<UpstreamReply> =>
        breaker.run(() => sender.send(outbound(written, headers), scope));
      const { reply, refused } = await sendAuthenticated({ credentials, identity, isQuery: method === 'GET', scope, send });
      // What one person may do says nothing about the others, nor about the service account.
      standing.answered(reply, identity === undefined ? (refused ? 'refused' : 'accepted') : 'of-person');
      guarding.answered(reply.status, refused, probe);
      return { reply };
    } catch (failure) {
      standing.failed(failure);
      // Another server may answer at the address.
      proof.forget();
      return { failure };
    } finally {
      ended();
    }
  };
  const writeFor = async (call: NodeCall, written: WrittenForNode, scope: CallScope): Promise<NodeCall | GatewayError> => {
    const known = credentials.hasOwn ? await proof.ask(scope) : { missing: `the adapter instance ${withoutService}` };
    if ('missing' in known) return written.unproven(known.missing, new URL(url).host);
    const made = written.for(known.form);
    return made instanceof GatewayError ? made : { ...call, ...made };
  };
  const proof = keepDryRunProof({
    kind,
    clock,
    send: (path, accept, scope) => attempt({ method: 'GET', path, headers: ['Accept', accept, 'User-Agent', userAgent] }, scope),
  });
  return attempt;
}

/** With the credentials of probes. */
async function findCommit(
  label: string,
  { kind, credentials, clock, userAgent }: NodeNeeds,
  send: AdapterNode['send'],
): Promise<FoundCommit> {
  if (kind.stamps === undefined) return { unknown: `An adapter of kind ${kind.name} stamps no commits.` };
  if (!credentials.hasOwn) return { unknown: `The adapter instance ${withoutService}.` };
  const scope = new CallScope({ total: probeLimit, clock });
  try {
    return await kind.stamps.find(label, async (path, accept) => {
      const sent = await send({ method: 'GET', path, headers: ['Accept', accept, 'User-Agent', userAgent] }, scope);
      if ('failure' in sent) throw sent.failure;
      return await wholeAnswer(sent.reply, maxProofSize);
    });
  } catch (failure) {
    return { unknown: failure instanceof GatewayError ? failure.message : 'The node was not asked to the end.' };
  } finally {
    scope.end();
  }
}

/** When the node begins to refuse them, and accepts them again. */
function credentialsLog({ url, instance, log }: NodeNeeds): (refusal: string | undefined) => void {
  // The path of the base address may hold a secret.
  const about = { adapter: instance.name, address: new URL(url).host };
  return (refusal) => {
    if (refusal === undefined) log.info('the credentials of an adapter instance are accepted again', about);
    else log.warn('the credentials of an adapter instance are refused', { ...about, reason: refusal });
  };
}

function callsTo({ url, instance }: NodeNeeds): ToOutbound {
  const base = new URL(url);
  const { origin } = base;
  const basePath = base.pathname.replace(/\/+$/u, '');
  return (call, credentials) => ({
    origin,
    path: `${basePath}/${call.path.startsWith('/') ? call.path.slice(1) : call.path}`,
    method: call.method,
    headers: [...call.headers, ...credentials],
    body: call.body,
    stateChanging: call.method !== 'GET',
    timeouts: instance.timeouts,
    responseLimit: instance.responseLimit,
  });
}

/** No promise if one is free. Throws or rejects with `adapter-busy` (queue full, or total limit passed), or with the scope's reason. */
export function takeSlot(
  slots: Semaphore,
  { name, queue }: { readonly name: string; readonly queue: number },
  scope: CallScope,
): Promise<void> | undefined {
  if (slots.tryAcquire()) return undefined;
  if (slots.waiting >= queue) throw busy(name, `its limits are reached (concurrency ${slots.atOnce}, queue ${queue})`);
  return slots.acquire({ scope }).catch((reason: unknown) => {
    throw reason instanceof GatewayError ? busy(name, 'the call waited for its whole time limit') : reason;
  });
}

function busy(name: string, reason: string): GatewayError {
  return new GatewayError(
    'adapter-busy',
    `The adapter instance "${name}" has no room for the call: ${reason}. Try again later.`,
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
