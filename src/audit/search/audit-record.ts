import type { AuditFacts } from '../audit-entry.ts';
import { changedDevices } from './changed-devices.ts';

/** What a record is about. Where an object has no name of its own, its `_id` is the name. */
interface RecordedObject {
  readonly _id: string;
  readonly name: string;
}

interface RecordedObjects {
  readonly automation?: RecordedObject | undefined;
  readonly workflow?: (RecordedObject & Omit<NonNullable<AuditFacts['workflow']>, 'id'>) | undefined;
  readonly form?: RecordedObject | undefined;
  readonly approval?: RecordedObject | undefined;
  /** It has the name of its automation. */
  readonly run?: RecordedObject | undefined;
  /** The devices that a change names in its path, and those of its preview; at most `maxDevices`. */
  readonly devices?: readonly string[] | undefined;
}

/** One call or event as shown to readers: the intent and its outcome in one record. */
export interface AuditRecord
  extends Omit<AuditFacts, 'event' | 'links' | 'proof' | 'approvalName' | 'workflow' | 'form' | 'approval' | 'run' | 'stamp'>,
    RecordedObjects {
  /** `CHAIN/SEQ`, as in the output of `audit verify`. For one of several records in an entry, `CHAIN/SEQ.INDEX`. */
  readonly id: string;
  readonly event: Exclude<AuditFacts['event'], 'proof'>;
  /** What the gateway added to the commit. A label of the caller stays, and the stamp has none then. */
  readonly stamp?: { readonly label?: string; readonly comment: string };
  /** The time of recording: for a state-changing call before it left, for everything else when it ended. ISO 8601, UTC. */
  readonly time: string;
}

export function shownAs(id: string, at: number, { links: _links, proof: _proof, ...facts }: AuditFacts): AuditRecord {
  const { approvalName: _name, workflow: _workflow, form: _form, approval: _approval, run: _run, stamp, ...shown } = facts;
  return {
    id,
    time: new Date(at).toISOString(),
    ...shown,
    // No reader gets a proof.
    event: shown.event as AuditRecord['event'],
    ...(stamp && { stamp: { ...(stamp.hasLabel && { label: stampLabel(id) }), comment: stamp.comment } }),
    ...objectsOf(facts),
  };
}

/** The label of a commit, by the id of its record. */
export function stampLabel(id: string): string {
  return `og-${id.replace('/', '_')}`;
}

/** The objects that the facts name, each under its own name alone. */
export function objectsOf(facts: AuditFacts): RecordedObjects {
  const { automation, workflow, form, approval, approvalName, run, verb, address } = facts;
  const devices = changedDevices(facts);
  return {
    ...(workflow && {
      workflow: { _id: workflow.id, name: workflow.id, version: workflow.version, tombstone: workflow.tombstone },
    }),
    ...(form && { form: { _id: form.id, name: form.id } }),
    ...(approval !== undefined && { approval: { _id: approval, name: approvalName ?? callName(verb, address) ?? approval } }),
    ...(run !== undefined && { run: { _id: run, name: automation?.name ?? run } }),
    ...(devices.length > 0 && { devices }),
  };
}

function callName(verb: string | undefined, address = ''): string | undefined {
  return verb === undefined ? undefined : `${verb} ${address}`;
}
