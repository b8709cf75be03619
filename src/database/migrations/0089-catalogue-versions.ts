import type { Migration } from '../migration.ts';
import { addLowest } from './row-versions.ts';

/** The lowest version that may act on a row of the catalogue. */
export const catalogueVersions: Migration = {
  number: 89,
  name: 'catalogue-versions',
  part: 'main',
  lowest: '0.1.0',
  up: (transaction) => addLowest(transaction, ['automation', 'workflow', 'form']),
};
