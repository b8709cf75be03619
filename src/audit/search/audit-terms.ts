import type { AuditFacts, AuditOutcome, MadeEntry } from '../audit-entry.ts';
import { objectsOf } from './audit-record.ts';

/** What a filter looks for, by which `audit_term` finds entries: a kind, a colon, and the beginning of a text. */
export type Term = string;

/** Characters of a text in a term. A reader compares the whole text. */
const maxTermLength = 200;

export const termOf = {
  principal: (name: string): Term => term('p', name),
  adapter: (name: string): Term => term('a', name),
  /** By `_id` or by name. */
  object: (name: string): Term => term('o', name),
  device: (name: string): Term => term('d', name),
  outcome: (outcome: AuditOutcome): Term => term('r', outcome),
  /** A run made a change. Its row is kept while the term is there. */
  changeOf: (run: string): Term => term('c', run),
  /** The outcome of a call has a text that readers search for. */
  laterText: 't:detail',
} as const;

function term(kind: string, text: string): Term {
  return `${kind}:${text.slice(0, maxTermLength).replaceAll('\0', '\uFFFD').toWellFormed()}`;
}

/** Of an intent, of a record, or of an outcome (`isLater`). */
export function auditTermsOf(facts: AuditFacts, isLater = false): readonly Term[] {
  const { principal, adapter, outcome } = facts;
  const { devices = [], ...objects } = objectsOf(facts);
  const terms = new Set<Term>();
  const add = (termFor: (text: string) => Term, ...texts: readonly (string | undefined)[]): void => {
    for (const text of texts) if (text !== undefined) terms.add(termFor(text));
  };
  add(termOf.principal, principal);
  add(termOf.adapter, adapter);
  add((text) => termOf.outcome(text as AuditOutcome), outcome);
  for (const one of [facts.automation, ...Object.values(objects)]) add(termOf.object, one?._id, one?.name);
  add(termOf.device, ...devices);
  if (isChange(facts)) terms.add(termOf.changeOf(facts.via.run));
  if (isLater && facts.detail !== undefined) terms.add(termOf.laterText);
  return [...terms];
}

function isChange(facts: AuditFacts): facts is AuditFacts & { readonly via: NonNullable<AuditFacts['via']> } {
  return facts.via !== undefined && facts.verb !== undefined && facts.verb !== 'GET' && facts.preview === undefined;
}

/** A row of `audit_term`: the entry has a record with the term. For an outcome, `at` and `seq` are those of its intent. */
export type TermRow = readonly [term: Term, at: number, chain: string, seq: number];

/** The place of an intent in `audit_open`: of a call whose outcome is not on record. */
type OpenRow = readonly [at: number, chain: string, seq: number];

interface TermChanges {
  readonly added: readonly TermRow[];
  readonly opened: readonly OpenRow[];
  readonly ended: readonly OpenRow[];
}

export function termChanges(entries: readonly MadeEntry[]): TermChanges {
  const added: TermRow[] = [];
  const opened = new Map<number, OpenRow>();
  const ended: OpenRow[] = [];
  for (const { kind, at, chain, seq, terms = [], intent } of entries) {
    if (kind === 'outcome' && intent !== undefined) {
      const place = [intent.at, chain, intent.seq] as const;
      if (!opened.delete(intent.seq)) ended.push(place);
      for (const each of terms) added.push([each, ...place]);
    } else if (kind !== 'outcome') {
      if (kind === 'intent') opened.set(seq, [at, chain, seq]);
      for (const each of terms) added.push([each, at, chain, seq]);
    }
  }
  return { added, opened: [...opened.values()], ended };
}
