import type { Tracing } from '#base/tracing.ts';
import { errorName } from '../../interpreter/task-error.ts';
import { traceOfRun } from './run-trace.ts';
import type { RunWatcher } from './run-watcher.ts';

/** Records each run as a span when it has ended. The spans of its calls name it as their parent. */
export function createRunSpans(tracing: Tracing): Pick<RunWatcher, 'ended'> {
  return {
    ended({ id, workflow, version, automation, createdAt, parent }, { status, startedAt = createdAt, endedAt, error }) {
      tracing.ended({
        name: `run ${workflow}`,
        trace: traceOfRun(id),
        from: startedAt,
        to: endedAt,
        failed: status === 'faulted',
        facts: () => ({
          'gateway.run.id': id,
          'gateway.run.workflow': workflow,
          'gateway.run.version': version,
          'gateway.run.automation': automation?.id,
          'gateway.run.parent': parent?.run,
          'gateway.run.status': status,
          'error.type': error && errorName(error),
        }),
      });
    },
  };
}
