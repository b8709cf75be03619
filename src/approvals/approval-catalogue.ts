import type { InvolvedPrincipal } from '#access/people.ts';
import type { SamePerson } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import type { Operation } from '#access/rights/operations.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { DryRunFormat } from '#adapters/dry-runs.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import { type Approval, type ApprovalDecision, hasAllGrants, isOpen, type StoredPreview, statusAt } from './approval.ts';
import type { DecidedApproval } from './approval-changes-store.ts';
import { eventKey } from './approval-facts.ts';
import {
  grantableRules,
  isOneOfApprovers,
  notApprover,
  type Obstacle,
  obstacleOf,
  peopleOf,
  warningsOf,
} from './approval-people.ts';
import { decisionText, digestOfBody, type ProofKey, proofOf } from './approval-proof.ts';
import type { ApprovalFilter, ApprovalPosition } from './approval-reading-store.ts';
import { approvalNotFound, approvalOver } from './approval-refusals.ts';
import { type Standing, type StandingNeeds, standingOf } from './approval-standing.ts';
import type { ApprovalStore } from './approval-store.ts';
import type { BatchItems, ShownItems } from './batches/batch-items.ts';

/** Who asks for which approval. */
export interface ApprovalRequest {
  readonly principal: Principal;
  readonly id: string;
}

/** An approval as its reader may see it. `status`: now. */
export type SeenApproval = Approval & {
  /** The reader may grant it. */
  readonly mayDecide: boolean;
  readonly whyNot: Obstacle | undefined;
  /** The reader may open the run that asks. */
  readonly seesRun: boolean;
  /** Sentences about rules that no known people could satisfy. None in a list. */
  readonly warnings: readonly string[];
  /** Of one for a batch. None in a list. */
  readonly items?: ShownItems | undefined;
};

/**
 * The approvals for a principal. One that it may not see is `approval-not-found` (404). Its caller, its approvers and the role admin see it.
 * Every operation rejects with `store-unavailable` (503) where the store does.
 */
export interface ApprovalCatalogue {
  read(request: ApprovalRequest): Promise<SeenApproval>;
  /** The newest first, without bodies and previews. A page may have fewer than its limit, and still a `next`. */
  list(request: {
    readonly principal: Principal;
    readonly filter: ApprovalFilter;
    readonly page: { readonly limit: number; readonly after?: ApprovalPosition | undefined };
  }): Promise<VisiblePage<SeenApproval, ApprovalPosition>>;
  /** `forbidden` (403) for those who are no approvers, 409 where it is over. A second grant of the same person changes nothing. */
  grant(request: ApprovalRequest & { readonly reason: string }): Promise<SeenApproval>;
  /** As `grant`. It ends the approval, also one that was granted and not used yet. */
  reject(request: ApprovalRequest & { readonly reason: string }): Promise<SeenApproval>;
  /** Takes the preview of the call again. */
  preview(request: ApprovalRequest & { readonly format?: DryRunFormat | undefined }): Promise<SeenApproval>;
  /** Whether the principal may see the approval with this id. */
  sees(principal: Principal, id: string): Promise<boolean>;
}

type ReadingOperation = Extract<Operation, 'listApprovals' | 'previewApproval' | 'readApproval'>;

interface CatalogueOptions extends StandingNeeds, BatchItems {
  readonly store: ApprovalStore;
  readonly rights: Rights;
  readonly takePreview: (approval: Approval, asker: Principal, format?: DryRunFormat) => Promise<StoredPreview>;
  /** All known people, for the warnings. */
  readonly known: () => Promise<readonly Principal[]>;
  /** Everybody who has had a hand in the run that asks up to now; empty where no run asks. */
  readonly involvedNow: (approval: Approval) => Promise<readonly InvolvedPrincipal[]>;
  /** Whether the principal may open the run that asks. */
  readonly seesRun: (principal: Principal, approval: Approval) => Promise<boolean>;
}

export function createApprovalCatalogue(options: CatalogueOptions): ApprovalCatalogue {
  const { store, clock, rights, takePreview, persons } = options;
  const listed = async (given: Approval, principal: Principal): Promise<SeenApproval> => {
    const approval = await current(given, options);
    const whyNot = obstacleOf(approval, { principal, isSame: persons.isSame });
    const seesRun = approval.task !== undefined && (await options.seesRun(principal, approval));
    return { ...approval, mayDecide: whyNot === undefined, whyNot, seesRun, warnings: [] };
  };
  const seen = async (given: Approval, principal: Principal): Promise<SeenApproval> => {
    const approval = await listed(given, principal);
    const items = given.batch && (await options.shownItems(given.batch));
    return { ...approval, warnings: warningsOf(approval, await options.known(), persons.isSame), items };
  };
  // A right shows approvals as the role admin does. It makes no one an approver.
  const shows = (operation: ReadingOperation, principal: Principal, approval: Approval): boolean =>
    maySee(principal, approval) || rights.covers(principal, operation, undefined);
  const visible = async ({ principal, id }: ApprovalRequest, operation: ReadingOperation = 'readApproval'): Promise<Approval> => {
    const approval = await store.read(id);
    if (approval === undefined || !shows(operation, principal, approval)) throw approvalNotFound();
    return approval;
  };
  const decide = async (
    { principal, id, reason }: ApprovalRequest & { readonly reason: string },
    as: ApprovalDecision['as'],
  ): Promise<SeenApproval> => {
    const found = await visible({ principal, id });
    refuseNewerRow('The approval', found.lowest);
    await refuseVoid(found, options);
    const { involved } = await current(found, options);
    const judged = await store.decide(id, (approval) =>
      judge(approval, { ...options, principal, isSame: persons.isSame, involved, reason, as, at: clock.now() }),
    );
    if (judged === undefined) throw approvalNotFound();
    return await seen(judged, principal);
  };
  return {
    read: async (request) => await seen(await visible(request), request.principal),
    async list({ principal, filter, page: asked }) {
      const page = await visiblePage({
        ...asked,
        read: (limit, place: ApprovalPosition | undefined) => store.list(filter, { limit, after: place }),
        sees: (approval) => isOfAutomation(approval, filter.automation) && shows('listApprovals', principal, approval),
        placeOf: ({ createdAt, id }) => ({ createdAt, id }),
        sizeOf,
      });
      return { ...page, list: await Promise.all(page.list.map((approval) => listed(approval, principal))) };
    },
    grant: (request) => decide(request, 'granted'),
    reject: (request) => decide(request, 'rejected'),
    async preview(request) {
      const approval = await visible(request, 'previewApproval');
      await openStanding(approval, options);
      const preview = await takePreview(approval, request.principal, request.format);
      return await seen({ ...approval, preview }, request.principal);
    },
    async sees(principal, id) {
      const approval = await store.readFacts(id);
      return approval !== undefined && shows('readApproval', principal, approval);
    },
  };
}

function isOfAutomation({ task }: Approval, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const { automation } = task?.of ?? {};
  return automation?.id === wanted || automation?.name === wanted;
}

/** A list has no bodies and no previews. */
function sizeOf(approval: Approval): number {
  return Buffer.byteLength(JSON.stringify({ ...approval, body: undefined, preview: undefined }));
}

/** An approval with its status of now. People who join a run while it waits have a hand in the call that it waits with. */
async function current(
  approval: Approval,
  { clock, involvedNow }: Pick<CatalogueOptions, 'clock' | 'involvedNow'>,
): Promise<Approval> {
  const status = statusAt(approval, clock.now());
  if (!isOpen(status)) return { ...approval, status };
  return { ...approval, ...peopleOf(approval, { principal: approval.principal, involved: await involvedNow(approval) }), status };
}

function maySee(principal: Principal, approval: Approval): boolean {
  return principal.roles.includes('admin') || principal.id === approval.principal.id || isOneOfApprovers(approval, principal);
}

/** What people decide about is what was asked: the store alone is not believed. */
async function refuseVoid(approval: Approval, needs: CatalogueOptions): Promise<void> {
  const isShown = approval.bodyDigest === digestOfBody(approval.body) && (await hasItsItems(approval, needs));
  if (!isShown) throw approvalOver({ ...approval, status: 'expired' });
  const { losses } = await openStanding(approval, needs);
  await needs.store.withdraw(approval, losses);
}

async function hasItsItems({ batch }: Approval, { itemsOf }: CatalogueOptions): Promise<boolean> {
  return batch === undefined || (await itemsOf(batch)).digest === batch.digest;
}

/** Throws 409 where the approval is over by the store or by the audit log. */
async function openStanding(approval: Approval, needs: CatalogueOptions): Promise<Standing> {
  const standing = await standingOf(approval, approval, needs);
  if (standing === undefined) throw approvalOver({ ...approval, status: 'expired' });
  if (!isOpen(standing.approval.status)) throw approvalOver(standing.approval);
  return standing;
}

interface Judged {
  readonly principal: Principal;
  readonly isSame: SamePerson;
  /** As it is now. */
  readonly involved: Approval['involved'];
  readonly reason: string;
  readonly as: ApprovalDecision['as'];
  readonly at: number;
  readonly key: ProofKey;
}

/** Throws where the principal may not decide, or the approval is over. */
function judge(given: Approval, { principal, isSame, involved, reason, as, at, key }: Judged): DecidedApproval | undefined {
  const approval = { ...given, involved, status: statusAt(given, at) };
  if (as === 'rejected') refuseRejection(approval, principal);
  else if (isGranted(approval, { principal, isSame })) return undefined;
  const { rules, decisions } = approval;
  const { id, username } = principal;
  const decided = { as, principal: { id, username }, at, reason, rules: grantableRules(approval, { principal, isSame }) };
  const all = [...decisions, { ...decided, proof: proofOf(decisionText(given, decided), key) }];
  const status = hasAllGrants(rules, all) ? 'granted' : 'waiting';
  const event = { kind: as, key: eventKey(as, decisions.length) };
  return { status: as === 'rejected' ? as : status, decisions: all, events: [event] };
}

/** Each approver may reject, also one who had a hand in the call. */
function refuseRejection(approval: Approval, principal: Principal): void {
  if (!isOneOfApprovers(approval, principal)) throw new GatewayError('forbidden', notApprover(approval).detail);
  if (!isOpen(approval.status)) throw approvalOver(approval);
}

/** True where the principal has granted it already. Throws where it may not. */
function isGranted(approval: Approval, granter: Pick<Judged, 'principal' | 'isSame'>): boolean {
  // Whether the approval is over is no business of those who may not grant it.
  const obstacle = obstacleOf({ ...approval, status: isOpen(approval.status) ? approval.status : 'waiting' }, granter);
  if (obstacle !== undefined && obstacle.code !== 'decided') throw new GatewayError('forbidden', obstacle.detail);
  if (!isOpen(approval.status)) throw approvalOver(approval);
  if (obstacle !== undefined) return true;
  if (approval.status === 'waiting') return false;
  throw new GatewayError('approval-granted', 'The approval has all of its grants already: its caller can make the call.');
}
