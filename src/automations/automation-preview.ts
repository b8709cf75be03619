import type { Principal } from '#access/principal.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { Automation } from './automation.ts';
import { nameTaken } from './automation-access.ts';
import {
  type AutomationDraft,
  type GivenAutomation,
  generateId,
  inUtc,
  modifierName,
  refuseTooLarge,
} from './automation-document.ts';
import { noPeople, peopleAfterWrite } from './automation-people.ts';
import { type DelegationNeeds, refuseDelegation } from './delegation.ts';
import type { AutomationStore, StoredAutomation } from './store/automation-store.ts';
import { nextTimes } from './timing/schedule.ts';
import { withSettledSchedule } from './timing/settled-schedule.ts';

interface PreviewNeeds extends DelegationNeeds {
  readonly store: Pick<AutomationStore, 'idNamed'>;
  /** Throws as a creation of the automation does. */
  readonly settle: (given: GivenAutomation) => unknown;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface AutomationPreview {
  readonly errors: readonly RequestProblem[];
  /** ISO 8601. */
  readonly next: readonly string[];
  /** As the store would have it; undefined where its form is not valid. */
  readonly stored: Pick<StoredAutomation, 'automation' | 'people'> | undefined;
}

/** What the creation of the automation would be refused for, and when it would run. Stores nothing. */
export async function previewAutomation(
  principal: Principal,
  { given, problems }: AutomationDraft,
  { store, settle, now, ...needs }: PreviewNeeds,
): Promise<AutomationPreview> {
  if (problems.length > 0) return { errors: problems, next: timesOf(given, problems, now), stored: undefined };
  const draft = given as GivenAutomation;
  const automation = settledDraft(draft, now);
  const errors = [
    ...(await faultsOf(() => settle(draft))),
    ...(await faultsOf(async () => {
      if ((await store.idNamed(draft.name)) !== undefined) throw nameTaken(draft.name);
    })),
    ...(await faultsOf(() => refuseDelegation(needs, { principal, next: automation }))),
    ...(await faultsOf(() => refuseTooLarge({ ...automation, lastModifiedBy: modifierName(principal.username) }))),
  ];
  const people = peopleAfterWrite({ people: noPeople, current: undefined, next: automation, by: principal });
  return { errors, next: nextTimes(automation, now), stored: { automation, people } };
}

function settledDraft(given: GivenAutomation, now: number): Automation {
  return { ...withSettledSchedule({ current: undefined, given: inUtc(given), now }), _id: generateId() };
}

async function faultsOf(work: () => unknown): Promise<readonly RequestProblem[]> {
  try {
    await work();
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status >= 500) throw error;
    return error.errors ?? [{ pointer: '', detail: error.message }];
  }
}

/** The schedule may be right although another member is not. */
function timesOf(given: unknown, problems: readonly RequestProblem[], now: number): readonly string[] {
  const isOfSchedule = ({ pointer }: RequestProblem): boolean =>
    ['', '/data', '/nextRunAt', '/repeatInterval', '/data/cron', '/data/timeZone'].includes(pointer);
  if (problems.some(isOfSchedule)) return [];
  const { nextRunAt, repeatInterval, data } = given as GivenAutomation;
  const { cron, timeZone } = data ?? {};
  const schedule = { ...(nextRunAt !== undefined && { nextRunAt }), ...(repeatInterval !== undefined && { repeatInterval }) };
  const zone = { ...(cron !== undefined && { cron }), ...(timeZone !== undefined && { timeZone }) };
  return nextTimes(settledDraft({ name: '', ...schedule, data: zone }, now), now);
}
