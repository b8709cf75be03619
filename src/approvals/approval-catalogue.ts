import { isApprover } from '#access/approval-options.ts';
import type { Operation } from '#access/operations.ts';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { DryRunFormat } from '#adapters/dry-runs.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type VisiblePage, visiblePage } from '#base/visible-page.ts';
import { type Approval, type ApprovalDecision, hasAllGrants, isOpen, type StoredPreview, statusAt } from './approval.ts';
import type { DecidedApproval } from './approval-changes-store.ts';
import type { ApprovalFilter, ApprovalPlace } from './approval-reading-store.ts';
import { approvalNotFound, approvalOver } from './approval-refusals.ts';
import type { ApprovalStore } from './approval-store.ts';

/** Who asks for which approval. */
export interface ApprovalRequest {
  readonly principal: Principal;
  readonly id: string;
}

/** An approval as its reader may see it. `status`: now. `mayDecide`: the reader may grant or reject it. */
export type SeenApproval = Approval & { readonly mayDecide: boolean };

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
    readonly page: { readonly limit: number; readonly after?: ApprovalPlace | undefined };
  }): Promise<VisiblePage<SeenApproval, ApprovalPlace>>;
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

interface CatalogueOptions {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly takePreview: (approval: Approval, format?: DryRunFormat) => Promise<StoredPreview>;
}

export function createApprovalCatalogue({ store, clock, rights, takePreview }: CatalogueOptions): ApprovalCatalogue {
  const seen = (approval: Approval, principal: Principal): SeenApproval => {
    const status = statusAt(approval, clock.now());
    return { ...approval, status, mayDecide: isOpen(status) && rulesFor(approval, principal).length > 0 };
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
    await visible({ principal, id });
    const judged = await store.decide(id, (approval) => judge(approval, { principal, reason, as, at: clock.now() }));
    if (judged === undefined) throw approvalNotFound();
    return seen(judged, principal);
  };
  return {
    read: async (request) => seen(await visible(request), request.principal),
    async list({ principal, filter, page: { limit, after } }) {
      const { list, next } = await visiblePage({
        limit,
        after,
        read: (most, place: ApprovalPlace | undefined) => store.list(filter, { limit: most, after: place }),
        sees: (approval) => shows('listApprovals', principal, approval),
        placeOf: ({ createdAt, id }) => ({ createdAt, id }),
      });
      return { list: list.map((approval) => seen(approval, principal)), next };
    },
    grant: (request) => decide(request, 'granted'),
    reject: (request) => decide(request, 'rejected'),
    async preview(request) {
      const approval = await visible(request, 'previewApproval');
      const preview = await takePreview(approval, request.format);
      return seen({ ...approval, preview }, request.principal);
    },
    async sees(principal, id) {
      const approval = await store.readFacts(id);
      return approval !== undefined && shows('readApproval', principal, approval);
    },
  };
}

function maySee(principal: Principal, { principal: caller, rules }: Approval): boolean {
  if (principal.roles.includes('admin') || principal.id === caller.id) return true;
  return rules.some(({ approvers }) => isApprover(principal, approvers));
}

/** The names of the rules for which a grant of the principal counts. */
function rulesFor({ principal: caller, rules }: Approval, principal: Principal): readonly string[] {
  return rules
    .filter(({ approvers, selfApproval }) => isApprover(principal, approvers) && (selfApproval || principal.id !== caller.id))
    .map(({ name }) => name);
}

interface Judged {
  readonly principal: Principal;
  readonly reason: string;
  readonly as: ApprovalDecision['as'];
  readonly at: number;
}

/** Throws where the principal may not decide, or the approval is over. */
function judge(approval: Approval, { principal, reason, as, at }: Judged): DecidedApproval | undefined {
  const { rules, decisions } = approval;
  const isOne = rules.some(({ approvers }) => isApprover(principal, approvers));
  if (!isOne) throw notApprover(approval);
  const counted = rulesFor(approval, principal);
  if (as === 'granted' && counted.length === 0)
    throw new GatewayError('forbidden', 'You asked for this call yourself, and its rule does not let its caller approve it.');
  const status = statusAt(approval, at);
  if (!isOpen(status)) throw approvalOver({ ...approval, status });
  const { id, username } = principal;
  const decision: ApprovalDecision = { as, principal: { id, username }, at, reason, rules: counted };
  if (as === 'rejected') return { status: 'rejected', decisions: [...decisions, decision], event: 'rejected' };
  if (decisions.some((earlier) => earlier.principal.id === id)) return undefined;
  if (status === 'granted')
    throw new GatewayError('approval-granted', 'The approval has all of its grants already: its caller can make the call.');
  const all = [...decisions, decision];
  return { status: hasAllGrants(rules, all) ? 'granted' : 'waiting', decisions: all, event: 'granted' };
}

function notApprover({ rules }: Approval): GatewayError {
  const named = rules.map(({ name, approvers: { roles, groups } }) => `${name}: ${[...roles, ...groups].join(', ')}`).join('; ');
  return new GatewayError('forbidden', `You are none of the approvers (${named}).`);
}
