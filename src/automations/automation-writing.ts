import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights.ts';
import type { Clock } from '#base/clock.ts';
import type { Automation, AutomationData } from './automation.ts';
import { mayEdit } from './automation-access.ts';
import { modifierName, refuseTooLarge } from './automation-document.ts';
import {
  type AutomationPeople,
  keptSkip,
  noPeople,
  peopleAfterPause,
  peopleAfterResume,
  peopleAfterTake,
  peopleAfterWrite,
} from './automation-people.ts';
import { documentText, taggedText, withNames } from './automation-row.ts';
import type { AutomationWriter, StoredAutomation } from './automation-store.ts';
import { nameTaken, notWorkflowWriter, pausedByWriter } from './catalogue-refusals.ts';
import { type DelegationNeeds, refuseDelegation, type WhyNotWriter } from './delegation.ts';
import { entityTag } from './entity-tag.ts';
import { runFields, withFactsOf } from './run-facts.ts';
import type { withSettledSchedule } from './settled-schedule.ts';
import { nextFrom } from './steered-schedule.ts';

/** A document as its reader or writer gets it. */
export interface AutomationState {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly text: string;
  /** Entity tag, in its quotes: of the document without its run facts. */
  readonly tag: string;
}

type Settled = ReturnType<typeof withSettledSchedule>;

interface Writing {
  readonly principal: Principal;
  readonly id: string;
  readonly settled: Settled;
  /** Absent: the automation is created. */
  readonly stored?: StoredAutomation;
  /** The `nextRunAt` that was written last, where this write keeps it. */
  readonly givenNext?: string | undefined;
}

interface WritingNeeds extends Omit<DelegationNeeds, 'asksAuthors'> {
  readonly clock: Clock;
}

/** Stores what a person wrote, as far as that person may decide it, and who answers for it now. */
export function createWriting({ clock, ...needs }: WritingNeeds) {
  const { whyNotWriter } = needs;
  const documentOf = ({ principal, id, settled, stored }: Writing): Automation => {
    const lastModifiedBy = modifierName(principal.username);
    const current = stored?.automation;
    const change = current === undefined ? 'owned' : changeOf(current, settled);
    if (current !== undefined && change === 'none') return current;
    if (current !== undefined && change === 'run facts')
      return { ...withFactsOf(withAnchor(current, settled.data?.scheduleFrom), settled), lastModifiedBy };
    const lastUpdated = new Date(clock.now()).toISOString();
    return { ...settled, _id: id, lastModifiedBy, data: { ...settled.data, lastUpdated } };
  };
  return async (writer: AutomationWriter, writing: Writing): Promise<AutomationState> => {
    const { principal, stored, givenNext } = writing;
    const written = documentOf(writing);
    const next = { ...written, lastSkip: keptSkip(writing.stored?.automation, written) };
    const workflowId = next.data?.workflowId;
    // A workflow that appears after this look is one that the automation named before.
    const exists = workflowId === undefined || (await writer.workflowsAmong([workflowId])).has(workflowId);
    const current = stored?.automation;
    await refuseDelegation(needs, { principal, current, next });
    const people = peopleAfterWrite({ people: stored?.people ?? noPeople, current, next, by: principal });
    const confirms = people.isUnconfirmed !== true || (await isWriter(whyNotWriter, principal, next));
    return put(writer, next, { givenNext, people: { ...people, isUnconfirmed: !exists || !confirms } });
  };
}

/** Pauses and resumes schedules. */
export function createSteering({
  clock,
  rights,
  whyNotWriter,
}: Pick<WritingNeeds, 'clock' | 'whyNotWriter'> & { readonly rights: Rights }) {
  return async (
    writer: AutomationWriter,
    {
      principal,
      steering,
      stored,
    }: { readonly principal: Principal; readonly steering: 'pause' | 'resume'; readonly stored: StoredAutomation },
  ): Promise<AutomationState> => {
    const { automation: current, people, givenNext } = stored;
    const writes = mayEdit(rights, principal, 'patchAutomation', current) && (await isWriter(whyNotWriter, principal, current));
    const { nextRunAt: before, ...paused } = current;
    if (steering === 'pause')
      return put(writer, paused, { givenNext, people: peopleAfterPause(people, { by: principal, isWriter: writes }) });
    if (people.pausedBy?.isWriter === true && !writes) throw pausedByWriter();
    const nextRunAt = nextFrom(current, { now: clock.now(), anchor: givenNext });
    const after = nextRunAt === before ? people : peopleAfterResume(people, principal);
    return put(writer, { ...current, nextRunAt }, { givenNext: givenNext ?? nextRunAt, people: after });
  };
}

/** Makes a person answer for all of an automation, which stays as it is. */
export function createTaking({ whyNotWriter, refuseAuthor }: Omit<DelegationNeeds, 'asksAuthors'>) {
  return async (
    writer: AutomationWriter,
    { principal, stored }: { readonly principal: Principal; readonly stored: StoredAutomation },
  ): Promise<AutomationState> => {
    const { givenNext, people } = stored;
    const { lastSkip: _skip, ...automation } = stored.automation;
    const workflowId = automation.data?.workflowId;
    const taken = peopleAfterTake(people, { automation, by: principal });
    if (workflowId === undefined) return put(writer, automation, { givenNext, people: { ...taken, isUnconfirmed: false } });
    const exists = (await writer.workflowsAmong([workflowId])).has(workflowId);
    const reason = await whyNotWriter(principal, workflowId);
    if (reason !== undefined) throw notWorkflowWriter('Taking it', reason);
    await refuseAuthor(principal, { id: workflowId, version: automation.data?.workflowVersion });
    return put(writer, automation, { givenNext, people: { ...taken, isUnconfirmed: !exists } });
  };
}

async function isWriter(whyNotWriter: WhyNotWriter, principal: Principal, { data }: Automation): Promise<boolean> {
  return data?.workflowId === undefined || (await whyNotWriter(principal, data.workflowId)) === undefined;
}

function withAnchor({ data, ...rest }: Automation, scheduleFrom: string | undefined): Automation {
  const { scheduleFrom: _, ...others }: AutomationData = data ?? {};
  if (scheduleFrom === undefined) return { ...rest, ...(data && { data: others }) };
  return { ...rest, data: { ...others, scheduleFrom } };
}

/** A change of run facts alone leaves `data.lastUpdated` and the ETag. */
function changeOf(current: Automation, settled: Settled): 'none' | 'run facts' | 'owned' {
  const text = ({ data, ...rest }: Settled): string => {
    const { lastUpdated: _last, ...owned }: AutomationData = data ?? {};
    return taggedText({ ...rest, _id: current._id, data: owned });
  };
  if (text(current) !== text(settled)) return 'owned';
  const isSame = runFields.every((field) => current[field] === settled[field]);
  return isSame && current.data?.scheduleFrom === settled.data?.scheduleFrom ? 'none' : 'run facts';
}

async function put(
  writer: AutomationWriter,
  automation: Automation,
  { givenNext, people }: { readonly givenNext?: string | undefined; readonly people: AutomationPeople },
): Promise<AutomationState> {
  refuseTooLarge(automation);
  const [conflict] = await writer.insert([automation], { givenNext, peopleOf: () => people });
  if (conflict !== undefined) throw nameTaken(automation.name);
  return stateOf(withNames(automation, people));
}

export function stateOf(automation: Automation): AutomationState {
  return { id: automation._id, name: automation.name, text: documentText(automation), tag: entityTag(taggedText(automation)) };
}
