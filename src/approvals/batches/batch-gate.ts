import { uuidVersion7 } from '#base/text/uuid.ts';
import type { ApprovalItem, ApprovalPermit, ApprovalTask, AskingCall } from '#calls/approval-check.ts';
import { type Approval, type ApprovalTerms, termsOf } from '../approval.ts';
import { useOfItem } from '../approval-facts.ts';
import { approvalOver, approvalRequired, whereToWait } from '../approval-refusals.ts';
import { hasRoom, type RoomNeeds, tooMany } from '../approval-room.ts';
import { newUse } from '../approval-row.ts';
import { type Standing, type StandingNeeds, standingOf } from '../approval-standing.ts';
import type { ApprovalStore } from '../approval-store.ts';
import { batchSubject, covers, fingerprintOf, placeOfUse, storedCall } from '../approval-subject.ts';
import type { BatchItems } from './batch-items.ts';

export interface BatchGateNeeds extends StandingNeeds, RoomNeeds {
  readonly store: ApprovalStore;
  /** In front of the path of an approval. */
  readonly base: string;
  /** Takes the preview of a new approval, in the background. */
  readonly takePreview: (approval: Approval) => void;
  readonly itemsOf: BatchItems['itemsOf'];
}

/** A call of a batch that rules with `covers: batch` match, or about which people were asked. */
interface CallOfItem {
  readonly asking: AskingCall;
  readonly task: ApprovalTask;
  readonly item: ApprovalItem;
  readonly needed: readonly ApprovalTerms[];
  readonly subject: string;
}

/** The call as one that people are asked about once for its batch. Undefined: it is none. */
export function callOfItem(asking: AskingCall): CallOfItem | undefined {
  const { task, isAsked } = asking.reference;
  const rules = asking.rules.filter((rule) => rule.covers === 'batch');
  if (task?.item === undefined || (rules.length === 0 && isAsked !== true)) return undefined;
  const { item } = task;
  return { asking, task, item, needed: rules.map(termsOf), subject: batchSubject(task, item, asking.call) };
}

/**
 * Lets the call pass by the approval of its batch, and asks people at the first such call. Rejects as `ApprovalGate` does. Undefined: people
 * have to decide about this call alone. The item had its use, or a person who granted has a hand in the call.
 */
export async function admitItem(call: CallOfItem, needs: BatchGateNeeds): Promise<ApprovalPermit | undefined> {
  const { task, item, needed, subject } = call;
  const known = (await needs.store.ofSubject(subject)).filter(({ isVoid }) => !isVoid);
  const place = placeOfUse(task, item);
  if (await hasUse(known, { item: item.index, place }, needs)) return undefined;
  const found = known.find(({ rules }) => covers(rules, needed));
  const standing = found && (await presentStanding(found, call, needs));
  if (found === undefined || standing === undefined)
    return needed.length === 0 ? undefined : await askOnce(call, await newApproval(call, needs), needs);
  const { approval, losses } = standing;
  if (losses.size > 0) return undefined;
  if (approval.status === 'waiting') return await askOnce(call, found, needs);
  if (approval.status !== 'granted') throw approvalOver(approval, needs.base);
  if (found.holdsUntil === undefined) await needs.store.beginBatch(approval);
  return permitOf(approval, { ...call, place }, needs);
}

async function hasUse(
  known: readonly Approval[],
  of: { readonly item: number; readonly place: string },
  { store }: BatchGateNeeds,
) {
  for (const { id: approval } of known) if (await store.isItemUsed({ approval, ...of })) return true;
  return false;
}

/** Undefined where it is over, and this task was none of those that waited for it. */
async function presentStanding(
  found: Approval,
  { asking, task }: CallOfItem,
  needs: BatchGateNeeds,
): Promise<Standing | undefined> {
  const standing = await standingOf(found, asking, needs);
  const status = standing?.approval.status;
  const isPast = status === 'used' || (status === 'expired' && !(await needs.store.waitedFor(task)).includes(found.id));
  return isPast ? undefined : standing;
}

type AskedOnce = Pick<Approval, 'batch' | 'expiresAt' | 'rules'>;

/** What people are asked first. */
async function newApproval({ asking, item, needed }: CallOfItem, needs: BatchGateNeeds): Promise<AskedOnce> {
  const { principal, rules, call, reference } = asking;
  const { body } = storedCall(call, reference);
  if (!(await hasRoom(principal, body?.length ?? 0, needs))) throw tooMany(needs);
  const { run, activity, attempt } = item;
  const { notBefore = 0 } = reference;
  const times = rules.flatMap(({ covers: of, expires }) => (of === 'batch' ? [expires] : []));
  return {
    batch: { run, activity, attempt, ...(await needs.itemsOf(item)) },
    expiresAt: Math.max(needs.clock.now(), notBefore) + Math.min(...times),
    rules: needed,
  };
}

/** Puts the call before people, or waits with those that wait already. */
async function askOnce(
  call: CallOfItem,
  { batch, expiresAt, rules }: AskedOnce,
  needs: BatchGateNeeds,
): Promise<ApprovalPermit | undefined> {
  const { asking, task, subject } = call;
  const { principal, reference, involved = [] } = asking;
  const { store, clock, base } = needs;
  const shown = storedCall(asking.call, reference);
  const fingerprint = fingerprintOf(asking.call, principal, await store.hashKey());
  const asked = { principal, call: shown.call, message: undefined, reason: reference.reason, task, batch, fingerprint };
  const { approval, isNew } = await store.create({
    id: uuidVersion7(clock.now()),
    subject,
    facts: { ...asked, rules, involved },
    body: shown.body,
    expiresAt,
    waiter: { run: task.run, activity: task.activity },
  });
  if (isNew) needs.takePreview(approval);
  // People decided a moment ago, before this call was one of the waiters.
  if (approval.status === 'granted') return await admitItem(call, needs);
  throw approvalRequired({ approval, base }, whereToWait(approval));
}

function permitOf(
  approval: Approval,
  { item, place }: CallOfItem & { readonly place: string },
  needs: BatchGateNeeds,
): ApprovalPermit {
  const { store, base } = needs;
  const { id } = approval;
  const use = { approval: id, item: item.index, place, use: newUse() };
  return {
    id,
    use: useOfItem(use),
    withIntent: {
      key: id,
      use: (transaction, record) => store.useForItemIn(transaction, use, record),
      async lost() {
        const now = (await store.readFacts(id)) ?? approval;
        return approvalOver({ ...now, status: now.status === 'granted' ? 'used' : now.status }, base);
      },
    },
    used: () => {},
    release: () => store.releaseItem(use).catch(() => undefined),
  };
}
