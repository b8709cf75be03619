import type { JSX } from 'preact';
import type { ListNotificationsData, Notification, NotificationReceiver } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { type ListPage, useOlder } from '../older.tsx';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';
import { countText, seenText } from '../texts.ts';

type Query = NonNullable<ListNotificationsData['query']>;
const states = ['waiting', 'delivered', 'failed', 'dropped'] as const;
const pageSize = 100;

/** The receivers of events, and what was sent, waits or failed. */
export function Notifications(): JSX.Element {
  const { query } = place.value;
  const status = states.find((state) => state === query.get('status'));
  const receiver = query.get('receiver') ?? '';
  const filters: Query = { limit: pageSize, ...(status && { status }), ...(receiver !== '' && { receiver }) };
  const loaded = useLoad(
    async (signal) => (await gateway.listNotifications({ query: filters, signal })).value,
    [query.toString()],
  );
  const liveness = useLive({ every: 2_000 }, loaded.again);
  return (
    <>
      <LiveSign of={liveness} />
      <Loading of={loaded}>
        {({ receivers, ...first }) => (
          <>
            <Receivers of={receivers} />
            <Filters label="Filter the notifications">
              <Select
                label="State"
                name="status"
                value={status ?? ''}
                options={[['', 'any'], ...states.map((state) => [state, state] as const)]}
              />
              <Select
                label="Receiver"
                name="receiver"
                value={receiver}
                options={[['', 'any'], ...receivers.map(({ receiver: name }) => [name, name] as const)]}
              />
            </Filters>
            <Pages key={query.toString()} first={first} filters={filters} />
          </>
        )}
      </Loading>
    </>
  );
}

const stateText = {
  new: 'gets the events from now on',
  active: 'gets the events',
  gone: 'answered 410: it gets nothing until the next reload',
} as const;

function Receivers({ of }: { readonly of: readonly NotificationReceiver[] }): JSX.Element {
  if (of.length === 0) return <Empty>The configuration names no receiver under notifications.</Empty>;
  return (
    <Panel title="Receivers">
      <Table label="Receivers" columns={['Receiver', 'State', 'Waiting', 'Events']} extra={[4]}>
        {of.map(({ receiver, state, waiting, oldestWaiting, events }) => (
          <tr key={receiver}>
            <td class="grow">
              <a href={hrefOf(['notifications'], { receiver })}>{seenText(receiver)}</a>
            </td>
            <td>{stateText[state]}</td>
            <td>
              {waiting}
              {oldestWaiting !== undefined && (
                <div class="soft">
                  since <Time at={oldestWaiting} />
                </div>
              )}
            </td>
            <td class="grow">{events.map(eventText).join(', ')}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

/** `workflow.faulted` of `io.serverlessworkflow.workflow.faulted.v1`. */
function eventText(type: string): string {
  return seenText(type.replace(/^(?:io\.serverlessworkflow|orchestration-gateway)\./u, '').replace(/\.v\d+$/u, ''));
}

function Pages({ first, filters }: { readonly first: ListPage<Notification>; readonly filters: Query }): JSX.Element {
  const { list, button } = useOlder(first, async (cursor) => {
    return (await gateway.listNotifications({ query: { ...filters, cursor } })).value;
  });
  if (list.length === 0) return <Empty>No notification of the last 7 days fits.</Empty>;
  return (
    <>
      <Table label="Notifications" columns={['State', 'Event', 'Receiver', 'Attempts', 'Created', 'Last answer']} extra={[4, 5]}>
        {list.map((one) => (
          <tr key={one.id}>
            <td>
              <Status of={one.status} />
            </td>
            <td class="grow">{eventText(one.type)}</td>
            <td>{seenText(one.receiver)}</td>
            <td>
              {countText(one.attempts, 'attempt')}
              {one.nextAttemptAt !== undefined && (
                <div class="soft">
                  next <Time at={one.nextAttemptAt} />
                </div>
              )}
            </td>
            <td class="fixed">
              <Time at={one.createdAt} />
            </td>
            <td>{[one.lastStatus, one.lastCode].filter((part) => part !== undefined).join(' ')}</td>
          </tr>
        ))}
      </Table>
      {button('Show older notifications')}
    </>
  );
}
