import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call-scope.ts';
import type { ConnectStep } from '#outbound/connector.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { speaksOfTheNode } from './node-failure.ts';
import { readRestconfError } from './restconf-errors.ts';

/** One step of trying a node. */
export interface TrialStep {
  readonly step: ConnectStep | 'authentication' | 'answer';
  readonly ok: boolean;
  readonly milliseconds: number;
  /** What was found; of a failure what is wrong. */
  readonly detail?: string;
}

/** What came of trying a node over a new connection. */
export interface NodeTrial {
  readonly url: string;
  readonly ok: boolean;
  /** In their order, up to the first that failed. */
  readonly steps: readonly TrialStep[];
}

/** Collects the steps of a trial as they are done. */
interface TrialRecord {
  done(step: ConnectStep): void;
  answered(reply: FarSideReply): NodeTrial;
  failed(failure: unknown): NodeTrial;
}

/** `speaksRestconf`: whether that is what a node of its kind answers in. */
export function recordTrial({
  url,
  clock,
  speaksRestconf,
}: {
  readonly url: string;
  readonly clock: Clock;
  readonly speaksRestconf: boolean;
}): TrialRecord {
  const steps: TrialStep[] = [];
  let last = clock.monotonic();
  const add = (step: Omit<TrialStep, 'milliseconds'>): void => {
    const now = clock.monotonic();
    steps.push({ ...step, milliseconds: Math.round((now - last) * 10) / 10 });
    last = now;
  };
  const trial = (): NodeTrial => ({ url, ok: steps.every(({ ok }) => ok), steps });
  return {
    done(step) {
      // A second connection, for a second question, is part of the answer.
      if (!steps.some((known) => known.step === step)) add({ step, ok: true });
    },
    answered(reply) {
      const { status } = reply;
      const doubt = speaksRestconf && status < 500 && !isRestconf(reply) ? ` ${notRestconf}` : '';
      add({ step: 'answer', ok: !speaksOfTheNode(reply), detail: `It answered ${status}.${doubt}` });
      if (status === 401 || status === 403) {
        const detail = `It answered ${status}: the credentials of this adapter (auth) are not taken, or may not read what a probe reads.`;
        add({ step: 'authentication', ok: false, detail });
      } else if (doubt === '') {
        add({ step: 'authentication', ok: true });
      } else {
        add({ step: 'authentication', ok: true, detail: 'Nothing shows that what answered looks at credentials.' });
      }
      return trial();
    },
    failed(failure) {
      const known = failure instanceof GatewayError;
      const detail = known ? failure.message : 'The gateway failed; see its log.';
      add({ step: failedStep(failure, url, steps), ok: false, detail });
      return trial();
    },
  };
}

const notRestconf = 'That was not RESTCONF: url has to be the address below which restconf/ lies, without it.';

/** By its media type, one of YANG's, or by an error body of RESTCONF; a reply without a body may be. */
function isRestconf(reply: FarSideReply): boolean {
  return (
    reply.head.length === 0 ||
    /yang/iu.test(headerValue(reply.headers, 'content-type') ?? '') ||
    readRestconfError(reply) !== undefined
  );
}

function failedStep(failure: unknown, url: string, done: readonly TrialStep[]): TrialStep['step'] {
  const phase = failure instanceof TimeLimitPassed ? failure.limit : failure instanceof GatewayError ? failure.code : 'unknown';
  const isConnected = done.some(({ step }) => step === 'connect' || step === 'proxy');
  if (phase === 'connect' && isConnected && url.startsWith('https:')) return 'tls';
  return failedSteps.get(phase) ?? 'answer';
}

const failedSteps: ReadonlyMap<string, TrialStep['step']> = new Map([
  ['dns', 'dns'],
  ['upstream-dns-failed', 'dns'],
  ['connect', 'connect'],
  ['upstream-connect-failed', 'connect'],
  ['upstream-tls-failed', 'tls'],
  // A trial passes by the breaker: what is unavailable are the credentials.
  ['adapter-unavailable', 'authentication'],
]);
