import type { JSX } from 'preact';
import type { Approval, ListApprovalsData } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { type ListPage, useOlder } from '../older.tsx';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';
import { seenText } from '../texts.ts';

type Query = NonNullable<ListApprovalsData['query']>;
const states: readonly NonNullable<Query['status']>[] = ['waiting', 'granted', 'rejected', 'expired', 'used'];
const pageSize = 200;

/** What waits for people, and what they decided. */
export function Approvals(): JSX.Element {
  const asked = place.value.query.get('status') ?? 'waiting';
  const status = states.find((state) => state === asked);
  const automation = place.value.query.get('automation') ?? '';
  const query: Query = { limit: pageSize, ...(status && { status }), ...(automation !== '' && { automation }) };
  const key = `${asked} ${automation}`;
  const loaded = useLoad(async (signal) => (await gateway.listApprovals({ query, signal })).value, [key]);
  const liveness = useLive({ every: 1_000 }, loaded.again);
  return (
    <>
      <Filters label="Filter the approvals">
        <Select
          label="State"
          name="status"
          value={asked}
          options={[...states.map((one) => [one, one] as const), ['any', 'any']]}
        />
        <Input label="Automation" name="automation" value={automation} placeholder="name or id" />
      </Filters>
      <LiveSign of={liveness} />
      <Loading of={loaded}>{(first) => <ApprovalPages key={key} first={first} query={query} />}</Loading>
    </>
  );
}

function ApprovalPages({ first, query }: { readonly first: ListPage<Approval>; readonly query: Query }): JSX.Element {
  const { list, button } = useOlder(
    first,
    async (cursor) => (await gateway.listApprovals({ query: { ...query, cursor } })).value,
  );
  if (list.length === 0) {
    return (
      <Empty>
        {query.status === 'waiting' && query.automation === undefined ? 'Nothing waits for an approval.' : 'No approval fits.'}
      </Empty>
    );
  }
  const mine = list.filter(({ status, mayDecide }) => status === 'waiting' && mayDecide).length;
  return (
    <>
      {query.status === 'waiting' && (
        <p>{mine === 0 ? 'None of them waits for you.' : <strong>{mine} of them you may decide.</strong>}</p>
      )}
      <ApprovalTable approvals={list} />
      {button('Show older approvals')}
    </>
  );
}

/** Approvals, each with who asks through which automation, and whether the caller may decide. */
export function ApprovalTable({ approvals }: { readonly approvals: readonly Approval[] }): JSX.Element {
  return (
    <Table label="Approvals" columns={['State', 'What', 'Asked by', 'You', 'Asked', 'Expires']} extra={[5, 6]}>
      {approvals.map((approval) => (
        <tr key={approval.id}>
          <td>
            <Status of={approval.status} />
          </td>
          <td class="grow">
            <a href={hrefOf(['approvals', approval.id])}>{titleOf(approval)}</a>
            {approval.batch !== undefined && <div class="soft">one decision for {approval.batch.items} items</div>}
            {approval.reason !== undefined && <div class="soft">{seenText(approval.reason)}</div>}
          </td>
          <td>
            {seenText(approval.principal)}
            {approval.automation !== undefined && <div class="soft">through {seenText(approval.automation)}</div>}
          </td>
          <td>{youText(approval)}</td>
          <td class="fixed">
            <Time at={approval.createdAt} />
          </td>
          <td class="fixed">
            <Time at={approval.expires} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const short: Readonly<Record<NonNullable<Approval['whyNot']>['code'], string>> = {
  over: '',
  decided: 'decided',
  caller: 'asked',
  involved: 'are involved',
  'same-person': 'are involved',
  'not-approver': 'are no approver',
  'newer-version': 'need a newer gateway',
};

function youText({ status, mayDecide, whyNot }: Approval): string {
  if (status !== 'waiting') return '';
  return mayDecide ? 'may decide' : short[whyNot?.code ?? 'not-approver'];
}

/** The call in one line, or the question of a workflow. */
export function titleOf({ call, message }: Pick<Approval, 'call' | 'message'>): string {
  if (call === undefined) return seenText(message ?? 'A workflow asks');
  return seenText([call.method, call.adapter, call.path].filter((part) => part !== undefined).join(' '));
}
