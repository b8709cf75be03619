import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call-scope.ts';
import type { ConnectStep } from '#outbound/connector.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { speaksOfTheNode } from './node-failure.ts';

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

export function recordTrial({ url, clock }: { readonly url: string; readonly clock: Clock }): TrialRecord {
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
      add({ step: 'answer', ok: !speaksOfTheNode(reply), detail: `It answered ${status}.` });
      if (status === 401 || status === 403) {
        const detail = `It answered ${status}: the credentials of this adapter (auth) are not taken, or may not read what a probe reads.`;
        add({ step: 'authentication', ok: false, detail });
      } else {
        add({ step: 'authentication', ok: true });
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
