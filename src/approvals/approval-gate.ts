import type { GatewayError } from '#base/gateway-error.ts';
import { uuidVersion7 } from '#base/text/uuid.ts';
import type { ApprovalGate, ApprovalPermit, AskingCall } from '#calls/approval-check.ts';
import { type Approval, isOpen, statusAt, termsOf } from './approval.ts';
import { useOf } from './approval-facts.ts';
import { previewedDevices } from './approval-preview.ts';
import { approvalMismatch, approvalOver, approvalRequired, whereToWait } from './approval-refusals.ts';
import { hasRoom, tooMany } from './approval-room.ts';
import { newUse, textOfUse } from './approval-row.ts';
import { standingOf } from './approval-standing.ts';
import { covers, fingerprintOf, storedCall, taskSubject } from './approval-subject.ts';
import { admitItem, type BatchGateNeeds, callOfItem } from './batches/batch-gate.ts';

type GateOptions = BatchGateNeeds;

export function createApprovalGate(options: GateOptions): ApprovalGate {
  return {
    async admit(asking) {
      const ofBatch = callOfItem(asking);
      const once = ofBatch && (await admitItem(ofBatch, options));
      if (once === undefined) return await admitCall(asking, options);
      const rules = asking.rules.filter((rule) => rule.covers !== 'batch');
      const own = rules.length === 0 ? undefined : await admitCall({ ...asking, rules }, options);
      return own === undefined ? once : await withBoth(own, once, options);
    },
  };
}

async function admitCall(asking: AskingCall, options: GateOptions): Promise<ApprovalPermit | undefined> {
  const fingerprint = fingerprintOf(asking.call, asking.principal, await options.store.hashKey());
  const found = await findApproval(asking, fingerprint, options);
  const standing = found && (await standingOf(found, asking, options));
  if (standing !== undefined) {
    await options.store.withdraw(standing.approval, standing.losses);
    return await permitOf(standing.approval, options);
  }
  if (asking.rules.length === 0) return undefined;
  // A void one makes room for a new one.
  if (found !== undefined) await options.store.expire({ ids: [found.id] });
  return await ask(asking, fingerprint, options);
}

/** The intent has one use. That of the batch is on record before it, and is released with the other one. */
async function withBoth(own: ApprovalPermit, ofBatch: ApprovalPermit, { store }: GateOptions): Promise<ApprovalPermit> {
  await store.prove(ofBatch.use);
  return {
    ...own,
    withIntent: {
      key: own.withIntent.key,
      use: async (transaction, record) =>
        (await ofBatch.withIntent.use(transaction, record)) && (await own.withIntent.use(transaction, record)),
      lost: () => own.withIntent.lost(),
    },
    async release() {
      await ofBatch.release();
      await own.release();
    },
  };
}

/** The approval that the entrance names, or that the task has asked for. Undefined: no approval covers the rules in force. */
async function findApproval(
  { principal, rules, reference: { id, task } }: AskingCall,
  fingerprint: string,
  { store }: GateOptions,
): Promise<Approval | undefined> {
  const needed = rules.map(termsOf);
  if (task !== undefined) {
    const asked = await store.ofSubject(taskSubject(task));
    // The idempotency key of the task is free: one that was used let nothing leave, because its gateway died between use and intent.
    const found = asked.find(({ status, isVoid, rules: approved }) => status !== 'used' && !isVoid && covers(approved, needed));
    if (found !== undefined && found.fingerprint !== fingerprint) throw approvalMismatch();
    return found;
  }
  if (id === undefined) return undefined;
  const named = await store.readFacts(id);
  if (named === undefined || named.principal.id !== principal.id || named.subject !== fingerprint) throw approvalMismatch();
  return covers(named.rules, needed) ? named : undefined;
}

/** Puts the call before people, unless it is already, and refuses it. */
async function ask(asking: AskingCall, fingerprint: string, options: GateOptions): Promise<never> {
  const { principal, call, rules, reference, involved = [] } = asking;
  const { store, clock, base, takePreview } = options;
  const { task, reason, client, notBefore = 0 } = reference;
  const now = clock.now();
  const shown = storedCall(call, reference);
  const subject = task === undefined ? fingerprint : taskSubject(task);
  if (!(await hasRoom(principal, shown.body?.length ?? 0, options)) && !(await isAsked(subject, options))) throw tooMany(options);
  const { approval, isNew } = await store.create({
    id: uuidVersion7(now),
    subject,
    facts: {
      principal,
      call: shown.call,
      message: undefined,
      reason,
      client,
      task,
      fingerprint,
      rules: rules.map(termsOf),
      involved,
    },
    body: shown.body,
    expiresAt: Math.max(now, notBefore) + Math.min(...rules.map(({ expires }) => expires)),
  });
  if (isNew) takePreview(approval);
  throw approvalRequired({ approval, base }, sentenceOf(approval));
}

function sentenceOf(approval: Approval): string {
  if (approval.status !== 'granted') return whereToWait(approval);
  return `The call is approved. Send it again with the header "Approval: ${approval.id}", before ${new Date(approval.expiresAt).toISOString()}.`;
}

/** The same call gets the approval that it has already, if there is room for another one or not. */
async function isAsked(subject: string, { store, clock }: GateOptions): Promise<boolean> {
  const asked = await store.ofSubject(subject);
  return asked.some((approval) => isOpen(statusAt(approval, clock.now())));
}

/** `approval`: as it counts at this moment. */
async function permitOf(approval: Approval, options: GateOptions): Promise<ApprovalPermit> {
  const { store, clock, base } = options;
  const refusalOf = (now: Approval): GatewayError => {
    const status = statusAt(now, clock.now());
    return status === 'waiting' || status === 'granted'
      ? approvalRequired({ approval: now, base }, sentenceOf(now))
      : approvalOver({ ...now, status }, base);
  };
  const { id } = approval;
  const use = newUse();
  if (approval.status !== 'granted') throw refusalOf(approval);
  // Another call uses it in the same moment, although its transaction has not ended.
  const lost = async (): Promise<Error> => {
    const now = (await store.readFacts(id)) ?? approval;
    return refusalOf(now.status === 'granted' ? { ...now, status: 'used' } : now);
  };
  const { preview } = (await store.read(id)) ?? approval;
  const quietly = (work: Promise<void>): Promise<void> => work.catch(() => undefined);
  const useOfRecord = (record: string) => ({ id, use: textOfUse(use, record), isUnrecorded: false });
  return {
    id,
    use: useOf(id, use),
    devices: preview && previewedDevices(preview),
    withIntent: { key: id, use: (transaction, record) => store.useIn(transaction, useOfRecord(record)), lost },
    // A use that is not announced now is announced by the upkeep.
    used: () => void quietly(store.announce([id])),
    release: () => quietly(store.release(id, use)),
  };
}
