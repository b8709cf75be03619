import type { JSX } from 'preact';
import { type AuditRecord, durationText } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { objectsOf, recordTitle } from '../audit-texts.ts';
import { Subject } from '../frame/subject.ts';
import { useLoad } from '../load.ts';
import { Empty, Facts, Panel, Time } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Status } from '../parts/status.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';
import { Decisions } from './approval-decisions.tsx';
import { KeptBody } from './sent-body.tsx';

/** One record: who, what exactly was sent, what came of it, and who approved it. */
export function AuditRecordPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(async (signal) => (await gateway.listAudit({ query: { id }, signal })).value.list, [id]);
  return (
    <Loading of={loaded}>
      {([record]) => (record === undefined ? <Empty>The log has no such record.</Empty> : <Read record={record} />)}
    </Loading>
  );
}

function Read({ record }: { readonly record: AuditRecord }): JSX.Element {
  const { approval, verb, preview, adapter, address } = record;
  const isCall = adapter !== undefined || address !== undefined;
  return (
    <div class="exact">
      <Subject title={recordTitle(record)} id={record.id} />
      <RecordFacts record={record} />
      {isCall && verb !== 'GET' && preview === undefined && (
        <Panel title="What was sent">
          {may('readAuditBody') ? <KeptBody record={record.id} /> : <NeededRight of="readAuditBody" to="read what was sent" />}
        </Panel>
      )}
      {approval !== undefined && <ApprovedBy id={approval._id} />}
    </div>
  );
}

type NamedFact = readonly [name: string, value: JSX.Element | string | undefined];

function RecordFacts({ record }: { readonly record: AuditRecord }): JSX.Element {
  return <Facts of={[...callerFacts(record), ...callFacts(record), ...objectFacts(record), ...resultFacts(record)]} />;
}

function callerFacts({ outcome, time, principal, roles, sourceAddress, actsAs }: AuditRecord): readonly NamedFact[] {
  return [
    ['Outcome', outcome && <Status of={outcome} />],
    ['Time', <Time at={time} exact />],
    ['Who', principal],
    ['Roles', roles?.join(', ')],
    ['From', sourceAddress],
    ['At the orchestrator as', actsAs && `${actsAs.name} (${actsAs.groups.join(', ') || 'no group'})`],
  ];
}

function callFacts({ route, adapter, verb = '', address, devices, stamp }: AuditRecord): readonly NamedFact[] {
  return [
    ['Operation', route],
    ['Adapter', adapter],
    ['Method and path', address && `${verb} ${address}`],
    ['Devices', devices?.join(', ')],
    ['Label of the commit', stamp?.label],
    ['Comment of the commit', stamp?.comment],
  ];
}

function objectFacts(record: AuditRecord): readonly NamedFact[] {
  const { run, via, reason } = record;
  const runId = run?._id ?? via?.run;
  return [
    ...objectsOf(record).map(({ kind, name, path }): NamedFact => {
      return [
        `${kind[0]?.toUpperCase()}${kind.slice(1)}`,
        path === undefined ? name : <a href={hrefOf(path)}>{seenText(name)}</a>,
      ];
    }),
    ['Run', runId && <a href={hrefOf(['runs', runId])}>{seenText(run?.name ?? 'the run')}</a>],
    ['Reason given', reason],
  ];
}

function resultFacts({ bodySha256, requestId, traceId, ...record }: AuditRecord): readonly NamedFact[] {
  const { decision, rule, upstreamStatus, status, code, attempts, durationMs, detail } = record;
  const isShownBelow = may('readAuditBody');
  return [
    ['Decision', decision && <Status of={decision} />],
    ['By the rule', rule],
    ['Upstream answered', upstreamStatus?.toString()],
    ['Result', [status, code].filter((part) => part !== undefined).join(' ') || undefined],
    ['Attempts', attempts?.toString()],
    ['Took', durationMs === undefined ? undefined : durationText(durationMs)],
    ['What happened', detail],
    ['SHA-256 of what was sent', bodySha256 && !isShownBelow ? <code>{bodySha256}</code> : undefined],
    ['Request id', requestId && <code>{seenText(requestId)}</code>],
    ['Trace id', traceId && <code>{seenText(traceId)}</code>],
  ];
}

/** Who decided about the call, and why. */
function ApprovedBy({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(async (signal) => (await gateway.readApproval({ path: { id }, signal })).value, [id]);
  return (
    <Loading of={loaded}>
      {({ status, decisions }) => (
        <>
          {decisions.length === 0 && (
            <Panel title="Decisions">
              <Status of={status} />
            </Panel>
          )}
          <Decisions decisions={decisions} />
          <p>
            <a href={hrefOf(['approvals', id])}>The approval, with the exact call</a>
          </p>
        </>
      )}
    </Loading>
  );
}
