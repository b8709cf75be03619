import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { firstBytes } from '#base/text/cut-text.ts';
import type { Database } from '#database/database.ts';
import { type AuditFacts, type ChainedEntry, factsOf, type KeptBody, storableText } from '../audit-entry.ts';
import type { ChainWriter } from '../chain/chain-writer.ts';
import { bodiesAmong, deleteOldestBodies, type StoredBody, sizeOfBody, sizesOfBodies } from './kept-body-store.ts';

/** Bytes of a text that are kept. */
const maxBodySize = 65_536;
/** Of `maxSize`: for one person, and what is deleted more than needed, so that not each write deletes. */
const ownerShare = 10;
const spareShare = 100;

type SentDigests = Pick<AuditFacts, 'bodySha256' | 'keptSha256'>;

/** What changes sent, in a space of its own: the oldest go where it is full, and no record goes for them. */
export interface KeptBodies {
  /** The members of an intent. `text`: the whole of what readers may see. */
  of(text: string, facts: AuditFacts): SentDigests & { readonly body: KeptBody | undefined };
  /** The writer, which makes room before it writes a body. */
  within(writer: ChainWriter): ChainWriter;
  /** Measures the store, since other gateways write too, and makes room. Rejects as the store does. */
  measure(): Promise<void>;
}

export function createKeptBodies({
  database,
  keeps,
  maxSize,
  isShort,
}: {
  readonly database: Database;
  readonly keeps: boolean;
  /** Bytes. */
  readonly maxSize: number;
  /** The disk of the store has no room for bodies. */
  readonly isShort: () => boolean;
}): KeptBodies {
  const ownerSize = Math.floor(maxSize / ownerShare);
  const spare = Math.floor(maxSize / spareShare);
  let sizes = new Map<string, number>();
  const total = (): number => sizes.values().reduce((sum, size) => sum + size, 0);
  const take = async (owner: string | undefined, excess: number): Promise<void> => {
    for (const [of, size] of await deleteOldestBodies(database, { owner, size: excess + spare }))
      sizes.set(of, (sizes.get(of) ?? 0) - size);
  };
  const makeRoom = async (owners: Iterable<string>): Promise<void> => {
    for (const owner of owners) {
      const excess = (sizes.get(owner) ?? 0) - ownerSize;
      if (excess > 0) await take(owner, excess);
    }
    const excess = total() - maxSize;
    if (excess > 0) await take(undefined, excess);
  };
  return {
    of(sent, facts) {
      const text = storableText(sent);
      const bodySha256 = digestOfKept(text);
      const kept = firstBytes(text, maxBodySize);
      if (!keeps || isShort() || sizeOfBody(kept) > ownerSize) return { bodySha256, body: undefined };
      const isCut = kept.length < text.length;
      const body = { text: kept, isCut, owner: ownerOf(facts) };
      return { bodySha256, ...(isCut && { keptSha256: digestOfKept(kept) }), body };
    },
    within: (writer) => ({
      ...writer,
      async append(entries, durability, companion) {
        const owners = new Set<string>();
        for (const { body } of entries)
          if (body !== undefined) {
            owners.add(body.owner);
            sizes.set(body.owner, (sizes.get(body.owner) ?? 0) + sizeOfBody(body.text));
          }
        // Where the store fails, the batch fails too, and says why.
        if (owners.size > 0) await makeRoom(owners).catch(() => {});
        await writer.append(entries, durability, companion);
      },
    }),
    async measure() {
      sizes = new Map(await sizesOfBodies(database));
      await makeRoom(sizes.keys());
    },
  };
}

/** SHA-256 in hexadecimal digits. */
function digestOfKept(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A name alone may be that of two people of different issuers. */
function ownerOf({ principal = '', issuer, subject }: AuditFacts): string {
  return issuer === undefined ? principal : `${issuer} ${subject ?? ''}`;
}

/** The bodies that are not those of these entries of one chain, in its order. A body that is gone is no problem. */
export async function bodyProblems(
  database: Pick<Database, 'read'>,
  entries: readonly ChainedEntry[],
): Promise<readonly string[]> {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) return [];
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  const problems: string[] = [];
  for await (const bodies of bodiesAmong(database, { chain: first.chain, from: first.seq, to: last.seq })) {
    for (const body of bodies) {
      const problem = problemOf(body, bySeq.get(body.seq));
      if (problem !== undefined) problems.push(`the body of ${first.chain}/${body.seq} ${problem}`);
    }
    await nextTurn();
  }
  return problems;
}

function problemOf({ body, is_cut: isCut }: StoredBody, entry: ChainedEntry | undefined): string | undefined {
  const [{ bodySha256, keptSha256 } = {}] = entry?.kind === 'intent' ? factsOf(entry) : [];
  if (bodySha256 === undefined) return 'was made up';
  const isSame = digestOfKept(body) === (keptSha256 ?? bodySha256) && (isCut === 1) === (keptSha256 !== undefined);
  return isSame ? undefined : 'was changed';
}
