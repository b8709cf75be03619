import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Clock } from '#base/clock.ts';
import type { Automation, AutomationData } from './automation.ts';
import { mayEdit, nameTaken, notWorkflowWriter, pausedByWriter } from './automation-access.ts';
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
import { type DelegationNeeds, refuseDelegation } from './delegation.ts';
import { entityTag } from './entity-tag.ts';
import { historyText } from './store/automation-history-store.ts';
import { documentText, runFields, taggedText, withFactsOf, withNames } from './store/automation-row.ts';
import type { AutomationWriter, StoredAutomation } from './store/automation-store.ts';
import { nextFrom } from './timing/schedule.ts';
import type { withSettledSchedule } from './timing/settled-schedule.ts';

export interface AutomationState {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly text: string;
  /** In quotes; of the document without its run facts. */
  readonly tag: string;
}

type Settled = ReturnType<typeof withSettledSchedule>;

interface Writing {
  readonly principal: Principal;
  readonly id: string;
  readonly settled: Settled;
  /** Absent: a new automation. */
  readonly stored?: StoredAutomation;
  /** The `nextRunAt` that was written last, if this write keeps it. */
  readonly givenNext?: string | undefined;
}

interface WritingNeeds extends Omit<DelegationNeeds, 'asksAuthors'> {
  readonly clock: Clock;
  readonly rights: Rights;
}

export function createWriting({ clock, rights, ...needs }: WritingNeeds) {
  const { whyNotWriter, refuseAuthor } = needs;
  const isWriter = async (principal: Principal, { data }: Automation): Promise<boolean> =>
    data?.workflowId === undefined || (await whyNotWriter(principal, data.workflowId)) === undefined;
  const put = (writer: AutomationWriter, automation: Automation, stored: Omit<Stored, 'at'>): Promise<AutomationState> =>
    insert(writer, automation, { ...stored, at: clock.now() });
  return {
    async write(writer: AutomationWriter, writing: Writing): Promise<AutomationState> {
      const { principal, stored, givenNext } = writing;
      const current = stored?.automation;
      const written = documentOf(writing, clock.now());
      const next = { ...written, lastSkip: keptSkip(current, written) };
      // A workflow that appears after this look is one that the automation named before.
      const exists = await namesExisting(writer, next);
      await refuseDelegation(needs, { principal, current, next });
      const people = peopleAfterWrite({ people: stored?.people ?? noPeople, current, next, by: principal });
      const confirms = people.isUnconfirmed !== true || (await isWriter(principal, next));
      const confirmed = { ...people, isUnconfirmed: !exists || !confirms };
      return put(writer, next, { givenNext, people: confirmed, by: principal, before: current });
    },

    /** Pauses or resumes the schedule. */
    async steer(
      writer: AutomationWriter,
      {
        principal,
        steering,
        stored: { automation: current, people, givenNext },
      }: { readonly principal: Principal; readonly steering: 'pause' | 'resume'; readonly stored: StoredAutomation },
    ): Promise<AutomationState> {
      const writes = mayEdit(rights, principal, 'patchAutomation', current) && (await isWriter(principal, current));
      const { nextRunAt: before, ...paused } = current;
      const noted = { by: principal, before: current };
      if (steering === 'pause') {
        const pausing = peopleAfterPause(people, { by: principal, isWriter: writes });
        return put(writer, paused, { ...noted, givenNext, people: pausing });
      }
      if (people.pausedBy?.isWriter === true && !writes) throw pausedByWriter();
      const nextRunAt = nextFrom(current, { now: clock.now(), anchor: givenNext });
      const after = nextRunAt === before ? people : peopleAfterResume(people, principal);
      return put(writer, { ...current, nextRunAt }, { ...noted, givenNext: givenNext ?? nextRunAt, people: after });
    },

    /** Makes the principal answer for all of the automation, which stays as it is. */
    async take(
      writer: AutomationWriter,
      { principal, stored }: { readonly principal: Principal; readonly stored: StoredAutomation },
    ): Promise<AutomationState> {
      const { lastSkip: _skip, ...automation } = stored.automation;
      const { workflowId: id, workflowVersion: version } = automation.data ?? {};
      const exists = await namesExisting(writer, automation);
      if (id !== undefined) {
        const reason = await whyNotWriter(principal, id);
        if (reason !== undefined) throw notWorkflowWriter('Taking it', reason);
        await refuseAuthor(principal, { id, version });
      }
      const people = { ...peopleAfterTake(stored.people, { automation, by: principal }), isUnconfirmed: !exists };
      return put(writer, automation, { givenNext: stored.givenNext, people, by: principal, change: 'taken' });
    },
  };
}

/** True also if the automation names no workflow. */
async function namesExisting(writer: AutomationWriter, { data }: Automation): Promise<boolean> {
  return data?.workflowId === undefined || (await writer.workflowsAmong([data.workflowId])).has(data.workflowId);
}

function documentOf({ principal, id, settled, stored }: Writing, now: number): Automation {
  const lastModifiedBy = modifierName(principal.username);
  const current = stored?.automation;
  const change = current === undefined ? 'owned' : changeOf(current, settled);
  if (current !== undefined && change === 'none') return current;
  if (current !== undefined && change === 'run facts')
    return { ...withFactsOf(withAnchor(current, settled.data?.scheduleFrom), settled), lastModifiedBy };
  return { ...settled, _id: id, lastModifiedBy, data: { ...settled.data, lastUpdated: new Date(now).toISOString() } };
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

interface Stored {
  readonly givenNext?: string | undefined;
  readonly people: AutomationPeople;
  readonly by: Principal;
  readonly change?: 'taken';
  /** Undefined: it was created. */
  readonly before?: Automation | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

async function insert(
  writer: AutomationWriter,
  automation: Automation,
  { givenNext, people, by, change, before, at }: Stored,
): Promise<AutomationState> {
  refuseTooLarge(automation);
  const [conflict] = await writer.insert([automation], { givenNext, peopleOf: () => people });
  if (conflict !== undefined) throw nameTaken(automation.name);
  const stored = withNames(automation, people);
  if (change !== undefined || before === undefined || historyText(before) !== historyText(stored))
    await writer.note([{ automation: stored, change: change ?? (before === undefined ? 'created' : 'changed'), by, at }]);
  return stateOf(stored);
}

export function stateOf(automation: Automation): AutomationState {
  return { id: automation._id, name: automation.name, text: documentText(automation), tag: entityTag(taggedText(automation)) };
}
