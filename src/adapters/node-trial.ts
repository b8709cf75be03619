import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call-scope.ts';
import type { ConnectStep } from '#outbound/connector.ts';
import { type FarSideReply, headerValue } from '#outbound/outbound-call.ts';
import { isNodeFault } from './node-failure.ts';
import { readRestconfError } from './restconf-errors.ts';

/** One step of a trial of a node. */
export interface TrialStep {
  readonly step: ConnectStep | 'authentication' | 'answer';
  readonly ok: boolean;
  readonly milliseconds: number;
  /** The finding, or the cause of the failure. */
  readonly detail?: string;
}

/** The result of a trial over a new connection. */
export interface NodeTrial {
  readonly url: string;
  readonly ok: boolean;
  /** In order, up to the first step that failed. */
  readonly steps: readonly TrialStep[];
}

/** Collects the steps of a trial. */
interface TrialRecord {
  done(step: ConnectStep): void;
  answered(reply: FarSideReply): NodeTrial;
  failed(failure: unknown): NodeTrial;
}

/** `speaksRestconf`: true if nodes of this kind reply with RESTCONF. */
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
      // A second connection, for the second request of a probe, counts as part of the answer.
      if (!steps.some((known) => known.step === step)) add({ step, ok: true });
    },
    answered(reply) {
      const { status } = reply;
      const doubt = speaksRestconf && status < 500 && !isRestconf(reply) ? ` ${notRestconf}` : '';
      add({ step: 'answer', ok: !isNodeFault(reply), detail: `It answered ${status}.${doubt}` });
      if (status === 401 || status === 403) {
        const detail = `It answered ${status}: the credentials of this adapter (auth) are not accepted, or may not read the resource of the probe.`;
        add({ step: 'authentication', ok: false, detail });
      } else if (doubt === '') {
        add({ step: 'authentication', ok: true });
      } else {
        add({ step: 'authentication', ok: true, detail: 'The reply does not show that the server checks credentials.' });
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

const notRestconf = 'The reply is not RESTCONF: url must be the address that contains restconf/, without restconf/ itself.';

/** True for a YANG media type, a RESTCONF error body, or a reply without a body. */
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
  // A trial does not pass through the breaker, so this error means that there are no credentials.
  ['adapter-unavailable', 'authentication'],
]);
