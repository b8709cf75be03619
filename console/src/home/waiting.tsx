import type { JSX } from 'preact';
import type { Adapter, Approval, Automation, ListedRun } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { Panel, Time } from '../parts/basics.tsx';
import { Icon, type IconName } from '../parts/icon.tsx';
import { may } from '../session.ts';
import { countText, seenText } from '../texts.ts';

/** What Home has asked for; a list that the caller may not ask for is empty. */
export interface HomeFacts {
  readonly approvals: readonly Approval[];
  readonly suspended: readonly ListedRun[];
  readonly automations: readonly Automation[];
  readonly adapters: readonly Adapter[];
}

interface Waiting {
  readonly key: string;
  readonly icon: IconName;
  readonly href: string;
  readonly title: string;
  /** What to do, or what is wrong. */
  readonly words: string;
  readonly tone: 'bad' | 'busy' | 'warn';
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
    { list: skippedSchedules(facts), rest: hrefOf(['automations'], { sort: 'nextRunAt' }) },
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
        {atWords} <Time at={at} />
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

function runsToDecide({ suspended, automations }: HomeFacts): readonly Waiting[] {
  const runs = suspended.map(({ id, automation, workflow, suspendedBy = 'people', createdAt }) => ({
    key: id,
    icon: 'runs' as const,
    href: hrefOf(['runs', id]),
    title: automations.find(({ _id }) => _id === automation)?.name ?? workflow,
    words: suspensions[suspendedBy],
    tone: 'warn' as const,
    at: createdAt,
  }));
  return [...severalUndecided(suspended), ...runs];
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
  return automations.flatMap(({ _id, name, lastSkip, lastRunAt = '' }) =>
    lastSkip === undefined || lastSkip.due <= lastRunAt
      ? []
      : [
          {
            key: _id,
            icon: 'automations' as const,
            href: hrefOf(['automations', _id]),
            title: name,
            words: `It did not run (${lastSkip.code}): ${lastSkip.reason}`,
            tone: 'bad' as const,
            at: lastSkip.due,
          },
        ],
  );
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
