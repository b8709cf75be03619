import { cursorMembers } from '#base/text/query-parameters.ts';

/** Up to here the log is verified. `seq` 0: to the beginning of the chain. */
export interface VerifiedPosition {
  readonly chain: string;
  readonly seq: number;
}

/** Or all chains are verified, and the approvals up to this one. */
export type VerifiedPart = VerifiedPosition | { readonly approval: string };

/** In place of a chain; no chain has this name. */
const afterChains = '*';

export function writeVerifiedPlace(place: VerifiedPart): string {
  const members = 'approval' in place ? [afterChains, place.approval] : [place.chain, place.seq];
  return Buffer.from(JSON.stringify(members)).toString('base64url');
}

/** Undefined for any other text. */
export function readVerifiedPlace(text: string): VerifiedPart | undefined {
  const [chain, seq, ...more] = cursorMembers(text);
  if (!isName(chain) || more.length > 0) return undefined;
  if (chain === afterChains && isName(seq)) return { approval: seq };
  return Number.isSafeInteger(seq) && (seq as number) >= 0 ? { chain, seq: seq as number } : undefined;
}

/** A text that every database can compare. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}
