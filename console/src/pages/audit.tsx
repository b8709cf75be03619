import type { JSX } from 'preact';
import { type AuditRecord, durationText, type ListAuditData } from '#client/gateway.ts';
import { hrefOf, place } from '../address.ts';
import { objectsOf, recordHref, recordTitle } from '../audit-texts.ts';
import { useLoad } from '../load.ts';
import { type ListPage, useOlder } from '../older.tsx';
import { Empty, Table, Time } from '../parts/basics.tsx';
import { Input, Select } from '../parts/field.tsx';
import { Filters } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { TimeRangePicker } from '../parts/time-range.tsx';
import { gateway, may } from '../session.ts';
import { countText, seenText } from '../texts.ts';
import { rangeOf } from '../time-range.ts';
import { AuditExport } from './audit-export.tsx';
import { ChainVerification } from './audit-verification.tsx';

type Query = NonNullable<ListAuditData['query']>;
const pageSize = 100;
const filterNames = ['principal', 'adapter', 'object', 'device', 'search', 'address', 'outcome'] as const;

/** The filters and the range of the address, as the gateway takes them. */
function auditQuery(query: URLSearchParams): Query {
  const { since, until } = rangeOf(query);
  const given = filterNames.flatMap((name) => (query.get(name) ? [[name, query.get(name)] as const] : []));
  return { ...Object.fromEntries(given), ...(since && { from: since }), ...(until && { to: until }) };
}

/** Who did what, and what came of it. */
export function Audit(): JSX.Element {
  const { query } = place.value;
  const filters = auditQuery(query);
  const key = query.toString();
  const first = useLoad(
    async (signal) => (await gateway.listAudit({ query: { ...filters, limit: pageSize }, signal })).value,
    [key],
  );
  return (
    <>
      <TimeRangePicker />
      <Filters label="Filter the audit log">
        <Input label="Device" name="device" value={filters.device ?? ''} hint="Changes of it." />
        <Input label="Object" name="object" value={filters.object ?? ''} hint="An automation, workflow, form, run or approval." />
        <Input label="Who" name="principal" value={filters.principal ?? ''} />
        <Input label="Adapter" name="adapter" value={filters.adapter ?? ''} />
        <Input label="Has the text" name="search" value={filters.search ?? ''} hint="In path, object, device, name or detail." />
        <Input label="Part of the path" name="address" value={filters.address ?? ''} />
        <Select
          label="Outcome"
          name="outcome"
          value={filters.outcome ?? ''}
          options={[['', 'any'], ...(['ok', 'refused', 'failed', 'unknown'] as const).map((one) => [one, one] as const)]}
        />
      </Filters>
      <Loading of={first}>{(page) => <AuditPages key={key} first={page} filters={filters} />}</Loading>
      {may('verifyAudit') && <ChainVerification />}
    </>
  );
}

function AuditPages({ first, filters }: { readonly first: ListPage<AuditRecord>; readonly filters: Query }): JSX.Element {
  const { list, button } = useOlder(first, async (cursor) => {
    return (await gateway.listAudit({ query: { ...filters, limit: pageSize, cursor } })).value;
  });
  return (
    <>
      {list.length === 0 ? (
        <Empty>No record fits these filters.</Empty>
      ) : (
        <Table label="Audit records" columns={['Time', 'Who', 'What', 'Outcome', 'Took', 'Details']} extra={[5, 6]}>
          {list.map((record) => (
            <Row key={record.id} record={record} />
          ))}
        </Table>
      )}
      {button(list.length === 0 ? 'Look further in the log' : 'Show older records')}
      {list.length > 0 && <AuditExport filters={filters} />}
    </>
  );
}

function Row({ record }: { readonly record: AuditRecord }): JSX.Element {
  const { code, status, via, run, devices } = record;
  const runId = run?._id ?? via?.run;
  return (
    <tr>
      <td class="fixed">
        <Time at={record.time} exact />
      </td>
      <td>
        {seenText(record.principal ?? '–')}
        {record.sourceAddress !== undefined && <div class="soft">{record.sourceAddress}</div>}
      </td>
      <td class="grow">
        <a href={recordHref(record.id)}>{recordTitle(record)}</a>
        {record.adapter !== undefined && <div class="soft">{record.route}</div>}
        <About record={record} />
        {devices !== undefined && <div class="soft">devices {seenText(devices.slice(0, 5).join(', '))}</div>}
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
          {kind} {path === undefined ? seenText(name) : <a href={hrefOf(path)}>{seenText(name)}</a>}
        </div>
      ))}
      {reason !== undefined && <div>“{seenText(reason)}”</div>}
      {event !== 'request' && <div class="soft">{seenText(detail ?? '')}</div>}
    </>
  );
}
