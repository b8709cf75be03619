import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { type ProofKey, proofKeyOf } from '#approvals/approval-proof.ts';
import { storedAuditKey } from '#audit/audit-store.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { systemCode } from '#base/system-code.ts';
import { randomHex } from '#base/text/random-hex.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import { keyFileOf } from '#database/store-part.ts';

/**
 * The key of the proofs of approvals. Where none is configured, a file next to a SQLite store has it, or on PostgreSQL the audit log. Rejects with `store-unavailable` where the file is there and holds no key.
 */
export async function openProofKey(
  { store, audit }: Pick<Config, 'store' | 'audit'>,
  { database, log }: { readonly database: Pick<Database, 'query' | 'read'>; readonly log: Log },
): Promise<ProofKey> {
  if (audit.key !== undefined) return proofKeyOf(audit.key.reveal());
  if (store.kind === 'sqlite') return proofKeyOf(await keyInFile(keyFileOf(store.file), log));
  log.warn('a writer of the database can forge approvals; set audit.key to a secret that the database does not hold');
  const stored = await storedAuditKey(database.read);
  return proofKeyOf(stored?.macKey ?? newKey());
}

function newKey(): string {
  return randomBytes(32).toString('base64url');
}

/** The first gateway that needs the key makes it. */
async function keyInFile(file: string, log: Log): Promise<string> {
  const there = await readKey(file);
  if (there !== undefined) return there;
  const made = newKey();
  // A link is made at once, with all that the file has. So no other gateway reads half a key.
  const draft = `${file}.${randomHex(8)}`;
  try {
    await writeFile(draft, `${made}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(draft, file).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    return (await readKey(file)) ?? made;
  } catch (error) {
    const reason = systemCode(error) ?? 'unknown';
    log.warn('the key of approvals cannot be kept: those of this process end with it', { file, reason });
    return made;
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
}

/** Undefined: there is no such file. */
async function readKey(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = systemCode(error) ?? 'unknown';
    if (code === 'ENOENT') return undefined;
    throw unusable(file, `cannot be read (${code})`);
  }
  if (/^[\w-]{43}\s*$/u.test(text)) return text.trim();
  throw unusable(file, 'holds no key');
}

function unusable(file: string, fault: string): GatewayError {
  const advice = 'Restore it from a back-up; or delete it, and each open approval has to be asked for again.';
  return new GatewayError('store-unavailable', `The key of approvals in ${file} ${fault}. ${advice}`);
}
