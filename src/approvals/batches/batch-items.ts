import { createHash } from 'node:crypto';
import { fitting } from '#base/visible-page.ts';
import type { ApprovalBatch } from '../approval.ts';

type Batch = Pick<ApprovalBatch, 'activity' | 'attempt' | 'run'>;

/** The items of a batch as people see them who decide about its calls. */
export interface ShownItems {
  /** `item`: JSON text. */
  readonly list: readonly { readonly index: number; readonly item: string }[];
  /** There are more than fit into a page. */
  readonly isCut: boolean;
}

/** Each rejects with `store-unavailable`. */
export interface BatchItems {
  readonly itemsOf: (batch: Batch) => Promise<Pick<ApprovalBatch, 'digest' | 'items'>>;
  readonly shownItems: (batch: Batch) => Promise<ShownItems>;
}

interface StoredValue {
  readonly index: number;
  /** JSON text. */
  readonly value: string;
}

/** More than a batch has. */
const maxItems = 100_000;

/** `maskOf`: what readers see of a JSON text of the run with this id. */
export function createBatchItems(
  items: (batch: Batch, page: { readonly limit: number; readonly after: number }) => Promise<readonly StoredValue[]>,
  maskOf: (run: string) => Promise<(jsonText: string) => string>,
): BatchItems {
  const read = (batch: Batch) => items(batch, { limit: maxItems, after: -1 });
  return {
    async itemsOf(batch) {
      const all = await read(batch);
      const hash = createHash('sha256');
      for (const { index, value } of all) hash.update(JSON.stringify([index, value]));
      return { items: all.length, digest: hash.digest('base64url') };
    },
    async shownItems(batch) {
      const [all, mask] = await Promise.all([read(batch), maskOf(batch.run)]);
      const list = all.map(({ index, value }) => ({ index, item: mask(value) }));
      const shown = fitting(list.map((one) => Buffer.byteLength(JSON.stringify(one))));
      return { list: list.slice(0, shown), isCut: shown < list.length };
    },
  };
}
