import { exceptionFields } from '#base/exception-fields.ts';
import type { Log, LogFields } from '#base/log.ts';
import type { SuspensionReason } from '../../interpreter/state/run-events.ts';
import { errorName } from '../../interpreter/task-error.ts';
import type { ClaimedRun } from '../../journal/run-records.ts';
import { traceOfRun } from './run-trace.ts';
import type { RunWatcher } from './run-watcher.ts';

const suspensionReason: Readonly<Record<SuspensionReason, string>> = {
  people: 'someone suspended it',
  'unknown-outcome': 'the outcome of a call is unknown',
  'delegation-lost': 'somebody who answers for its calls is gone, or may not make them any more',
  'person-gone': 'the principal in whose name it calls was removed or blocked',
  'store-loss': 'the store lost commits while it was under way, and people have not released it',
};

/** Writes a line when a run ends, is suspended or is taken over, and when the gateway itself fails on one. */
export function createRunLog(log: Log): Pick<RunWatcher, 'takenOver' | 'suspended' | 'ended' | 'failedInside'> {
  return {
    takenOver: (run) => log.warn('a run was taken over: the gateway that held it ended, or lost its lease', fieldsOf(run)),
    failedInside: (thrown, run) =>
      log.error('the gateway failed on a run', { ...(run && fieldsOf(run)), ...exceptionFields(thrown) }),
    suspended(run, by) {
      const reason = suspensionReason[by];
      log.warn('a run is suspended', { ...fieldsOf(run), reason });
    },
    ended(run, { status, endedAt, error }) {
      const fields = { ...fieldsOf(run), durationMs: endedAt - run.createdAt };
      if (status === 'completed') log.info('a run has completed', fields);
      else if (status === 'cancelled') log.info('a run was cancelled', fields);
      else log.warn('a run has faulted', { ...fields, reason: error && errorName(error) });
    },
  };
}

function fieldsOf({ id, workflow, automation, principal }: ClaimedRun): LogFields {
  const { traceId } = traceOfRun(id);
  return { run: id, workflow, automation: automation?.id, traceId, principal: principal.username };
}
