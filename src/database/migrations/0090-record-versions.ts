import type { Migration } from '../migration.ts';
import { addLowest } from './row-versions.ts';

/** The lowest version that may act on a run, an approval, a notification or a task of an agent. */
export const recordVersions: Migration = {
  number: 90,
  name: 'record-versions',
  part: 'records',
  lowest: '0.1.0',
  up: (transaction) => addLowest(transaction, ['run', 'run_claim', 'approval', 'notification', 'agent_task']),
};
