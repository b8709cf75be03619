import { readFileSync } from 'node:fs';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';

/**
 * The column `lowest` of a row names the lowest version that may act on it. An older gateway, next to a newer one or after a way back, leaves the row
 * alone, and still answers it to readers. A minor version has a number, so that SQL compares: 0.2 has 2, 1.0 has 1000.
 */
export function minorNumber(version: string): number {
  const [major = NaN, minor = NaN] = version.split('.').map(Number);
  return major * 1_000 + minor;
}

/** For a row without a feature that an older version does not understand. No feature of version 0.2, which brought the column, needs more. */
export const everyVersion = 0;

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};
const own = minorNumber(version);

/** The tables with the column. */
export type VersionedTable =
  | 'agent_task'
  | 'approval'
  | 'automation'
  | 'form'
  | 'notification'
  | 'run'
  | 'run_claim'
  | 'workflow';

/** The condition on a row of the table that this version may act on it. */
export function mayActOn(table: VersionedTable): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(`${table}.lowest`)} <= ${sql.lit(own)}`;
}

/** Whether a row with this `lowest` needs a newer version. Absent: it needs none. */
export function needsNewer(lowest: number | undefined = everyVersion): boolean {
  return lowest > own;
}

/** Throws 409 where a caller asks for a change of what needs a newer version. `what`: such as "The automation". */
export function refuseNewerRow(what: string, lowest: number | undefined): void {
  if (lowest === undefined || !needsNewer(lowest)) return;
  const needed = `${Math.floor(lowest / 1_000)}.${lowest % 1_000}`;
  throw new GatewayError(
    'newer-version-needed',
    `${what} needs version ${needed} of the gateway, and this one has version ${version}. Ask a gateway of version ${needed} or later, or upgrade this one.`,
  );
}
