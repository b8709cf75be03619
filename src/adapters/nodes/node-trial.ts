import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call/call-scope.ts';
import type { ConnectStep } from '#outbound/dialling/connector.ts';
import type { Probed } from '../adapter-kind.ts';
import { NoCredentials } from '../credentials/credentials.ts';
import { isNodeFault } from './node-failure.ts';
import { refusedCredentials } from './node-standing.ts';

export interface TrialStep {
  readonly step: ConnectStep | 'authentication' | 'answer';
  readonly ok: boolean;
  readonly milliseconds: number;
  /** Or the cause of the failure. */
  readonly detail?: string;
}

export interface NodeTrial {
  readonly url: string;
  readonly ok: boolean;
  /** Up to the first that failed. */
  readonly steps: readonly TrialStep[];
}

interface TrialRecord {
  done(step: ConnectStep): void;
  answered(probed: Probed): NodeTrial;
  failed(failure: unknown): NodeTrial;
}

interface TrialOptions {
  readonly url: string;
  /** The type of authentication. */
  readonly auth: string;
  readonly clock: Clock;
  /** Nodes of this kind reply with RESTCONF. */
  readonly speaksRestconf: boolean;
}

export function recordTrial(options: TrialOptions): TrialRecord {
  const { url, clock } = options;
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
      // The connection of a second request counts as part of the answer.
      if (!steps.some((known) => known.step === step)) add({ step, ok: true });
    },
    answered({ path, reply, fault }) {
      const { status } = reply;
      const ok = !isNodeFault(reply) && (fault === undefined || status === 401);
      const request = `GET ${path}`;
      add({
        step: 'answer',
        ok,
        detail: `${request} answered ${status}${ok ? '.' : `: ${fault ?? 'the server itself or a proxy in front of it has a fault.'}`}`,
      });
      if (ok) add({ step: 'authentication', ...authentication(status, options) });
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

function authentication(status: number, { auth, speaksRestconf }: TrialOptions): Pick<TrialStep, 'detail' | 'ok'> {
  if (status === 401) return { ok: false, detail: refusedCredentials(auth) };
  if (status === 403)
    return { ok: false, detail: `The server answered 403 to the credentials of this adapter instance (auth: ${auth}).` };
  if (auth === 'none') return { ok: true, detail: 'This adapter instance has no credentials (auth: none).' };
  const sent = `The credentials (auth: ${auth}) were sent and not refused.`;
  return { ok: true, detail: speaksRestconf ? sent : `${sent} The server may check them only at other paths.` };
}

function failedStep(failure: unknown, url: string, done: readonly TrialStep[]): TrialStep['step'] {
  if (failure instanceof NoCredentials) return 'authentication';
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
]);
