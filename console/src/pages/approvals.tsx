import type { JSX } from 'preact';
import type { Approval, ListApprovalsData } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { LiveSign } from '../parts/live-sign.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';
import { seenText } from '../texts.ts';

type State = NonNullable<NonNullable<ListApprovalsData['query']>['status']>;
const states: readonly State[] = ['waiting', 'granted', 'rejected', 'expired', 'used'];

/** What waits for people, and what they decided. */
export function Approvals(): JSX.Element {
  const asked = place.value.query.get('status') ?? 'waiting';
  const status = states.find((state) => state === asked);
  const loaded = useLoad(
    async (signal) => {
      const query = { limit: 200, ...(status === undefined ? {} : { status }) };
      return (await gateway.listApprovals({ query, signal })).value.list;
    },
    [asked],
  );
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
      </Filters>
      <LiveSign of={liveness} />
      <Loading of={loaded}>
        {(list) =>
          list.length === 0 ? (
            <Empty>{asked === 'waiting' ? 'Nothing waits for an approval.' : 'No approval fits.'}</Empty>
          ) : (
            <ApprovalTable approvals={list} />
          )
        }
      </Loading>
    </>
  );
}

export function ApprovalTable({ approvals }: { readonly approvals: readonly Approval[] }): JSX.Element {
  return (
    <Table label="Approvals" columns={['State', 'What', 'Asked by', 'Rules', 'Asked', 'Expires']} extra={[3, 4, 5, 6]}>
      {approvals.map((approval) => (
        <tr key={approval.id}>
          <td>
            <Status of={approval.status} />
          </td>
          <td class="grow">
            <a href={hrefOf(['approvals', approval.id])}>{titleOf(approval)}</a>
            {approval.reason !== undefined && <div class="soft">{approval.reason}</div>}
          </td>
          <td>{approval.principal}</td>
          <td>{approval.rules.map(({ name }) => name).join(', ')}</td>
          <td class="fixed">
            <Time at={approval.createdAt} />
          </td>
          <td class="fixed">
            <Time at={approval.expires} relative />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The call in one line, or the question of a workflow. */
export function titleOf({ call, message }: Pick<Approval, 'call' | 'message'>): string {
  if (call === undefined) return seenText(message ?? 'A workflow asks');
  return seenText([call.method, call.adapter, call.path].filter((part) => part !== undefined).join(' '));
}
