import type { InvolvedPrincipal } from '#access/people.ts';
import { customRole, isRole, type Principal, type RoleName } from '#access/principal.ts';
import type { Approvers, SelfApproval } from '#access/rights/approval-options.ts';
import type { LimitReached } from '#base/limits.ts';
import type { ApprovalTask } from '#calls/approval-check.ts';
import type { OutsideResult } from '../interpreter/state/run-events.ts';
import { callRefusal, isCallRefusal, standardError } from '../interpreter/task-error.ts';
import { momentAfter } from '../interpreter/time-limit.ts';
import type { CallArguments } from './arguments.ts';

export interface AskedQuestion {
  readonly task: ApprovalTask;
  readonly message: string;
  readonly terms: { readonly approvers: Approvers; readonly count: number; readonly selfApproval: SelfApproval };
  /** Milliseconds. */
  readonly expires: number;
  /** `expires` counts from this time, where it is ahead: milliseconds since the epoch. */
  readonly notBefore?: number | undefined;
}

export interface AskingRun {
  readonly principal: Principal;
  /** Who had a hand in the run. Absent: only the principal. */
  readonly involved?: readonly InvolvedPrincipal[] | undefined;
}

/** Each method rejects with `store-unavailable`, and `ask` with `too-many-requests`. */
export interface ApprovalTasks {
  /** Asks people the first time; then answers their decision. */
  ask(question: AskedQuestion & AskingRun): Promise<ApprovalAnswer>;
  /** The task has asked for an approval and did not use it, so its call was certainly not made. */
  isUnused(task: ApprovalTask): Promise<boolean>;
  /** The run no longer waits: nothing is left to approve. */
  withdraw(task: ApprovalTask): Promise<void>;
}

type ApprovalAnswer =
  | { readonly kind: 'waiting' }
  /** `at`: ISO 8601. */
  | {
      readonly kind: 'granted';
      readonly id: string;
      readonly grants: readonly { readonly principal: string; readonly at: string; readonly reason: string }[];
    }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string };

/** Bytes: people read it, and lists have it. */
const maxMessageLength = 10_240;
/** Roles and groups of one question, together. */
const maxApprovers = 100;
/** Characters. */
const maxNameLength = 1_024;
const usualExpiry = 4 * 3_600_000;

/** `call: approval`. Throws `invalid-request` with every problem of its arguments. */
export function approvalArguments(given: CallArguments, limitReached?: LimitReached): Omit<AskedQuestion, 'notBefore' | 'task'> {
  const message = given.requiredText('message');
  if (Buffer.byteLength(message) > maxMessageLength) {
    limitReached?.('approval-message');
    given.problems.add('/message', `has more than ${maxMessageLength / 1_024} KiB`);
  }
  const approvers = approversIn(given);
  const count = countIn(given);
  const selfApproval = selfApprovalIn(given);
  const expires = expiryIn(given);
  given.check();
  return { message, terms: { approvers, count, selfApproval }, expires };
}

function approversIn(given: CallArguments): Approvers {
  const named = given.object('approvers');
  const roles = named.texts('roles').map((name): RoleName => (isRole(name) ? name : customRole(name)));
  const groups = named.texts('groups');
  if (roles.length === 0 && groups.length === 0) given.problems.add('/approvers', 'names no role and no group');
  const names = [...named.texts('roles'), ...groups];
  if (names.length > maxApprovers) given.problems.add('/approvers', `names more than ${maxApprovers} roles and groups`);
  if (names.some(({ length }) => length > maxNameLength))
    given.problems.add('/approvers', `has a name of more than ${maxNameLength} characters`);
  return { roles, groups };
}

function countIn(given: CallArguments): number {
  const count = given.value('count') ?? 1;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= 20) return count;
  given.problems.add('/count', 'is no whole number from 1 to 20');
  return 1;
}

function selfApprovalIn(given: CallArguments): SelfApproval {
  const written = given.value('selfApproval') ?? false;
  if (typeof written === 'boolean' || written === 'authors') return written;
  given.problems.add('/selfApproval', 'is not true, false or authors');
  return false;
}

function expiryIn(given: CallArguments): number {
  const written = given.text('expires');
  const expires = written === undefined ? usualExpiry : readExpiry(written);
  if (expires === undefined) given.problems.add('/expires', 'is no duration such as 4h or PT4H, of at least 1s');
  return expires ?? usualExpiry;
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function readExpiry(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,9})(ms|s|m|h|d)$/u.exec(text) ?? [];
  const milliseconds = digits === '' ? momentAfter(0, text) : Number(digits) * units[unit as keyof typeof units];
  return milliseconds === undefined || milliseconds < 1_000 ? undefined : Math.min(milliseconds, 365 * units.d);
}

/** Undefined while people have not decided. */
export function approvalResult(answer: ApprovalAnswer): OutsideResult | undefined {
  if (answer.kind === 'waiting') return undefined;
  if (answer.kind === 'granted') return { kind: 'ok', output: JSON.stringify({ id: answer.id, grants: answer.grants }) };
  const { code, detail } = answer;
  const error = isCallRefusal(code)
    ? callRefusal(code, `${code}: ${detail}`)
    : standardError('authorization', 'The approval cannot be used', `${code}: ${detail}`);
  return { kind: 'error', error };
}
