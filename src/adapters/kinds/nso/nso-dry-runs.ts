import type { DryRuns } from '#adapters/dry-runs.ts';
import { readDryRun } from './dry-run-answer.ts';
import { writeDryRun } from './dry-run-request.ts';
import { proveNso } from './yang-library.ts';

/** NSO says what a call would do, without doing it (NSO Development Guide, "RESTCONF API", query parameters). */
export const nsoDryRuns: DryRuns = {
  write: writeDryRun,
  prove: proveNso,
  accept: 'application/yang-data+json',
  read: readDryRun,
};
