import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import type { ChainLink } from './audit-entry.ts';
import type { AuditKey } from './audit-key.ts';
import { type Checkpoint, isGenuine } from './checkpoint.ts';

type ChainRow = Tables['audit_chain'];

/** The problem of a record that a link or checkpoint names, if the store does not have that record unchanged. */
export async function missing(
  moment: Transaction<Tables>,
  { chain, seq, mac }: ChainLink,
  witness: string,
): Promise<readonly string[]> {
  const row = await moment.selectFrom('audit_chain').selectAll().where('chain', '=', chain).executeTakeFirst();
  if (row === undefined) return [`the chain ${chain} was removed: ${witness} names it`];
  if (seq < row.pruned_seq) return [];
  const entry =
    seq === row.pruned_seq
      ? { mac: row.pruned_mac }
      : await moment.selectFrom('audit_entry').select('mac').where('chain', '=', chain).where('seq', '=', seq).executeTakeFirst();
  if (entry === undefined) return [`${await cutOff(moment, row, seq)} cut off: ${witness} names ${chain}/${seq}`];
  return entry.mac === mac ? [] : [`${chain}/${seq} is not the record that ${witness} names: the chain was rewritten`];
}

/** The records that are missing up to `seq`. */
async function cutOff(moment: Transaction<Tables>, { chain, pruned_seq }: ChainRow, seq: number): Promise<string> {
  const last = await moment
    .selectFrom('audit_entry')
    .select('seq')
    .where('chain', '=', chain)
    .where('seq', '<', seq)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const first = (last?.seq ?? pruned_seq) + 1;
  return first === seq ? `${chain}/${seq} was` : `${chain}/${first} to ${chain}/${seq} were`;
}

/** Where the store does not have what a checkpoint names. */
export async function checkpointProblems(
  moment: Transaction<Tables>,
  key: AuditKey | undefined,
  checkpoint: Checkpoint,
): Promise<readonly string[]> {
  const witness = `the checkpoint of ${new Date(checkpoint.at).toISOString()}`;
  if (key === undefined || !isGenuine(key, checkpoint))
    return [`${witness} (${checkpoint.chain}/${checkpoint.seq}) is not signed by this store's key`];
  const row = await moment.selectFrom('audit_chain').selectAll().where('chain', '=', checkpoint.chain).executeTakeFirst();
  if (row !== undefined && checkpoint.seq < row.pruned_seq && checkpoint.at >= row.pruned_before)
    return [`${checkpoint.chain}/${checkpoint.seq} was pruned before its time: ${witness} names it`];
  return await missing(moment, checkpoint, witness);
}
