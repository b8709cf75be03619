import type { JSX } from 'preact';
import type { Adapter, Approval, ListedAutomation, ListedRun } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { isPaused, scheduleKind } from '../automations/schedule.ts';
import { Panel, Time } from '../parts/basics.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { may } from '../session.ts';
import { countText, errorKind, seenText } from '../texts.ts';

/** What Home has asked for; a list that the caller may not ask for is empty. */
export interface HomeFacts {
  readonly approvals: readonly Approval[];
  readonly suspended: readonly ListedRun[];
  /** Runs that go on, with items of a batch whose outcome is unknown. */
  readonly undecided: readonly ListedRun[];
  /** Of the last day, the newest first. */
  readonly failed: readonly ListedRun[];
  readonly automations: readonly ListedAutomation[];
  readonly adapters: readonly Adapter[];
}

interface Waiting {
  readonly key: string;
  readonly icon: IconName;
  readonly href: string;
  readonly title: string;
  /** What to do, or what is wrong. */
  readonly words: string;
  readonly tone: 'bad' | 'busy' | 'calm' | 'warn';
  /** Undefined: no time says when. */
  readonly at: string | undefined;
  /** In front of the time. */
  readonly atWords?: string;
}

/** Entries of one kind; the list of the kind has the rest. */
const most = 8;

/** What waits for this person: first what only people end, then what is broken. */
export function WaitingForYou({ facts }: { readonly facts: HomeFacts }): JSX.Element {
  const groups = [
    { list: approvalsOf(facts, true), rest: hrefOf(['approvals']) },
    { list: runsToDecide(facts), rest: hrefOf(['runs'], { status: 'suspended' }) },
    { list: failedRuns(facts), rest: hrefOf(['runs'], { status: 'faulted', range: '24h' }) },
    { list: [...skippedSchedules(facts), ...withoutOwner(facts)], rest: hrefOf(['automations'], { sort: 'nextRunAt' }) },
    { list: paused(facts), rest: hrefOf(['automations']) },
    { list: adaptersDown(facts), rest: hrefOf(['adapters']) },
    { list: approvalsOf(facts, false), rest: hrefOf(['approvals']) },
  ];
  if (groups.every(({ list }) => list.length === 0)) {
    return (
      <Panel title="Waiting for you">
        <p class="all-well">
          <Icon of="check" /> Nothing waits for you.
        </p>
      </Panel>
    );
  }
  return (
    <Panel title="Waiting for you">
      <ul class="waiting">
        {groups.flatMap(({ list, rest }) => [
          ...list.slice(0, most).map((one) => <Entry key={one.key} of={one} />),
          ...(list.length > most
            ? [
                <li key={rest}>
                  <a href={rest}>{countText(list.length - most, 'more')}</a>
                </li>,
              ]
            : []),
        ])}
      </ul>
    </Panel>
  );
}

function Entry({ of: { icon, href, title, words, tone, at, atWords } }: { readonly of: Waiting }): JSX.Element {
  return (
    <li>
      <span class={`waiting-icon ${tone}`}>
        <Icon of={icon} />
      </span>
      <span class="waiting-text">
        <a href={href}>{seenText(title)}</a>
        <span class={tone}>{seenText(words)}</span>
      </span>
      <span class="waiting-time">
        {atWords} {at !== undefined && <Time at={at} />}
      </span>
    </li>
  );
}

/** Those that the person may decide, or those that other people decide. */
function approvalsOf({ approvals }: HomeFacts, mayDecide: boolean): readonly Waiting[] {
  const found = approvals.filter((approval) => approval.mayDecide === mayDecide);
  return found.map((approval) => approvalEntry(approval, mayDecide ? 'Grant or reject it' : 'Another person decides about it'));
}

function approvalEntry({ id, call, message, automation, workflow, expires }: Approval, words: string): Waiting {
  const about = call === undefined ? (message ?? 'A question of a workflow') : `${call.method} ${call.path}`;
  const title = automation ?? workflow;
  return {
    key: id,
    icon: 'approvals',
    href: hrefOf(['approvals', id]),
    title: title === undefined ? about : `${title}: ${about}`,
    words,
    tone: 'busy',
    at: expires,
    atWords: 'expires',
  };
}

const suspensions: Readonly<Record<NonNullable<ListedRun['suspendedBy']>, string>> = {
  people: 'A person suspended it: resume or cancel it',
  'unknown-outcome': 'Decide about a call whose outcome is unknown',
  'delegation-lost': 'A person who answers for it lost a right',
  'person-gone': 'The person in whose name it calls is gone',
  'store-loss': 'The store lost commits: release it',
};

/** First those whose calls may have happened. */
function runsToDecide({ suspended, undecided }: HomeFacts): readonly Waiting[] {
  const isUnknown = ({ suspendedBy }: ListedRun): boolean => suspendedBy === 'unknown-outcome';
  const others = suspended.filter((run) => !isUnknown(run));
  return [
    ...severalUndecided(suspended),
    ...suspended.filter(isUnknown).map((run) => runEntry(run, suspensions['unknown-outcome'])),
    ...undecided.map((run) => runEntry(run, `Decide about ${countText(run.items?.unknown ?? 0, 'item')} of a batch`)),
    ...others.map((run) => runEntry(run, suspensions[run.suspendedBy ?? 'people'])),
  ];
}

function runEntry(run: ListedRun, words: string, tone: Waiting['tone'] = 'warn'): Waiting {
  const { id, automationName, workflow, createdAt, endedAt = createdAt } = run;
  return { key: id, icon: 'runs', href: hrefOf(['runs', id]), title: automationName ?? workflow, words, tone, at: endedAt };
}

/** The newest run of each automation that failed, until one of its runs completes. */
function failedRuns({ failed, automations }: HomeFacts): readonly Waiting[] {
  const lastRuns = new Map(automations.map(({ _id, lastRuns: runs = [] }) => [_id, runs]));
  const groups = Map.groupBy(failed, ({ automation, workflow }) => automation ?? workflow);
  return [...groups.values()].flatMap(([newest, ...others]) => {
    if (newest === undefined) return [];
    const [last] = (lastRuns.get(newest.automation ?? '') ?? []).filter(({ endedAt }) => endedAt !== undefined);
    if (last?.status === 'completed' && (last.endedAt ?? '') > (newest.endedAt ?? '')) return [];
    return [runEntry(newest, failureWords(newest, others.length + 1), 'bad')];
  });
}

function failureWords({ error }: ListedRun, count: number): string {
  const times = count === 1 ? '' : `, ${count} times in a day`;
  if (error === undefined) return `It failed${times}`;
  const [why = ''] = (error.detail ?? error.title ?? '').split('\n');
  return `It failed${times} (${errorKind(error.type)}): ${why.slice(0, 160)}`;
}

/** One page decides about several calls. */
function severalUndecided(suspended: HomeFacts['suspended']): readonly Waiting[] {
  const [first, ...others] = suspended.filter(({ suspendedBy }) => suspendedBy === 'unknown-outcome');
  if (first === undefined || others.length === 0) return [];
  const [key, icon, href] = ['undecided', 'runs', hrefOf(['runs'], { view: 'undecided' })] as const;
  const title = `${others.length + 1} runs with calls of an unknown outcome`;
  return [{ key, icon, href, title, words: 'Decide about several at once', tone: 'warn', at: first.createdAt }];
}

/** Due times that began no run, until a run begins again. */
function skippedSchedules({ automations }: HomeFacts): readonly Waiting[] {
  return automations.flatMap((automation) => {
    const { lastSkip, lastRunAt = '' } = automation;
    if (lastSkip === undefined || lastSkip.due <= lastRunAt) return [];
    const words = `It did not run (${lastSkip.code}): ${lastSkip.reason}`;
    return [{ ...automationEntry(automation, words, 'bad'), at: lastSkip.due }];
  });
}

/** Without a person who answers for it nothing is due. */
function withoutOwner({ automations }: HomeFacts): readonly Waiting[] {
  return automations
    .filter((automation) => automation.data?.owner === undefined && scheduleKind(automation) !== 'none')
    .map((automation) => automationEntry(automation, 'It does not run until a person takes it over', 'bad'));
}

function paused({ automations }: HomeFacts): readonly Waiting[] {
  return automations
    .filter(isPaused)
    .map((automation) => automationEntry(automation, 'Paused: nothing is due until a person resumes it', 'calm'));
}

function automationEntry({ _id, name }: ListedAutomation, words: string, tone: Waiting['tone']): Waiting {
  return {
    key: `${_id} ${words}`,
    icon: 'automations',
    href: hrefOf(['automations', _id]),
    title: name,
    words,
    tone,
    at: undefined,
  };
}

function adaptersDown({ adapters }: HomeFacts): readonly Waiting[] {
  return adapters
    .filter(({ state }) => state === 'offline' || state === 'degraded')
    .map(({ name, state, since, lastError }) => ({
      key: name,
      icon: 'adapters',
      href: may('listAdapters') ? hrefOf(['adapters', name]) : hrefOf([]),
      title: name,
      words: `The adapter is ${state}. ${lastError?.detail ?? ''}`.trimEnd(),
      tone: state === 'offline' ? 'bad' : 'warn',
      at: since,
    }));
}
