import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type AuditRecord, durationText, type ListAuditData } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { useLoad } from '../load.ts';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Days, Filters } from '../parts/filters.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway, may } from '../session.ts';
import { countText } from '../texts.ts';
import { ChainVerification } from './audit-verification.tsx';

type Query = NonNullable<ListAuditData['query']>;
const pageSize = 100;

/** Who did what, and what came of it. */
export function Audit(): JSX.Element {
  const filters = Object.fromEntries(place.value.query) as Query;
  const key = place.value.query.toString();
  const first = useLoad(
    async (signal) => (await gateway.listAudit({ query: { ...filters, limit: pageSize }, signal })).value,
    [key],
  );
  return (
    <>
      <Filters label="Filter the audit log">
        <Input label="Who" name="principal" value={filters.principal ?? ''} />
        <Input label="Adapter" name="adapter" value={filters.adapter ?? ''} />
        <Input label="Device or path" name="address" value={filters.address ?? ''} placeholder="such as ce0" />
        <Select
          label="Outcome"
          name="outcome"
          value={filters.outcome ?? ''}
          options={[['', 'any'], ...(['ok', 'refused', 'failed', 'unknown'] as const).map((one) => [one, one] as const)]}
        />
        <Input label="From" name="from" value={filters.from ?? ''} placeholder="2026-03-01T00:00:00Z" />
        <Input label="To" name="to" value={filters.to ?? ''} placeholder="2026-03-02T00:00:00Z" />
      </Filters>
      <Days from="from" to="to" />
      <Loading of={first}>{(page) => <AuditPages key={key} first={page} filters={filters} />}</Loading>
      {may('verifyAudit') && <ChainVerification />}
    </>
  );
}

interface Page {
  readonly list: readonly AuditRecord[];
  readonly cursor?: string | undefined;
}

function AuditPages({ first, filters }: { readonly first: Page; readonly filters: Query }): JSX.Element {
  const [page, setPage] = useState<Page>(first);
  const [error, setError] = useState<unknown>(undefined);
  const more = (cursor: string): void => {
    gateway
      .listAudit({ query: { ...filters, limit: pageSize, cursor } })
      .then(({ value }) => setPage((last) => ({ list: [...last.list, ...value.list], cursor: value.cursor })), setError);
  };
  const { list, cursor } = page;
  if (list.length === 0) return <Empty>No record fits these filters.</Empty>;
  return (
    <>
      <Table label="Audit records" columns={['Time', 'Who', 'What', 'Outcome', 'Took', 'Details']} extra={[5, 6]}>
        {list.map((record) => (
          <Row key={record.id} record={record} />
        ))}
      </Table>
      {error !== undefined && <Failure error={error} />}
      {cursor !== undefined && (
        <p>
          <button type="button" onClick={() => more(cursor)}>
            Show older records
          </button>
        </p>
      )}
    </>
  );
}

function Row({ record }: { readonly record: AuditRecord }): JSX.Element {
  const { adapter, verb, address, code, status, via, run } = record;
  const runId = run?._id ?? via?.run;
  return (
    <tr>
      <td class="fixed">
        <Time at={record.time} />
      </td>
      <td>
        {record.principal ?? '–'}
        {record.sourceAddress !== undefined && <div class="soft">{record.sourceAddress}</div>}
      </td>
      <td class="grow">
        {record.route ?? record.event}
        <div class="soft">{adapter === undefined ? '' : `${adapter} ${verb ?? ''} ${address ?? ''}`}</div>
        <About record={record} />
      </td>
      <td>{record.outcome === undefined ? '' : <Status of={record.outcome} />}</td>
      <td class="fixed number">{record.durationMs === undefined ? '' : durationText(record.durationMs)}</td>
      <td>
        {[status, code].filter((part) => part !== undefined).join(' ')}
        {record.count !== undefined && ` ${countText(record.count, 'time')}`}
        {runId !== undefined && (
          <div>
            <a href={hrefOf(['runs', runId])}>run</a>
          </div>
        )}
        {record.requestId !== undefined && <div class="soft">{record.requestId}</div>}
      </td>
    </tr>
  );
}

/** What a record is about, and why a person decided so. */
function About({ record }: { readonly record: AuditRecord }): JSX.Element {
  const { event, reason, detail } = record;
  return (
    <>
      {objectsOf(record).map(({ kind, name, path }) => (
        <div key={kind} class="soft">
          {kind} {path === undefined ? name : <a href={hrefOf(path)}>{name}</a>}
        </div>
      ))}
      {reason !== undefined && <div>“{reason}”</div>}
      {event !== 'request' && <div class="soft">{detail}</div>}
    </>
  );
}

/** What a record is about, each with the way to its page. */
function objectsOf({ automation, workflow, form, approval }: AuditRecord) {
  const named = [
    { kind: 'automation', of: automation, place: 'automations' },
    { kind: 'workflow', of: workflow, place: 'workflows' },
    { kind: 'form', of: form, place: 'forms' },
    { kind: 'approval', of: approval, place: 'approvals' },
  ] as const;
  return named.flatMap(({ kind, of, place: page }) => {
    if (of === undefined) return [];
    const version = 'version' in of && of.version !== undefined ? ` ${of.version}` : '';
    return [{ kind, name: `${of.name}${version}`, path: page === 'forms' ? undefined : [page, of._id] }];
  });
}
