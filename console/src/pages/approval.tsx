import type { JSX } from 'preact';
import type { Approval, ApprovalRule } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { recordHref } from '../audit-texts.ts';
import { Subject } from '../frame/subject.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Facts, Panel, Table, Time } from '../parts/basics.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';
import { indentedJson, seenText } from '../texts.ts';
import { ApprovalBatchPanel, ApprovalCallPanel, ApprovalPreviewPanel } from './approval-call.tsx';
import { DecideApproval } from './approval-decide.tsx';
import { Decisions } from './approval-decisions.tsx';
import { titleOf } from './approvals.tsx';
import { InvolvedPeople } from './involved-people.tsx';
import { useWhole } from './whole-text.tsx';

/** One approval: who asks through what, the exact call, what it would change, and the decision. */
export function ApprovalPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(async (signal) => (await gateway.readApproval({ path: { id }, signal })).value, [id]);
  useLive({ every: 1_000 }, loaded.again);
  return <Loading of={loaded}>{(approval) => <Read approval={approval} again={loaded.again} />}</Loading>;
}

function Read({ approval, again }: { readonly approval: Approval; readonly again: () => void }): JSX.Element {
  const { call, batch, preview, status, rules, involved, warnings = [] } = approval;
  const parts = {
    'the call': useWhole(call === undefined ? '' : callText(call)),
    'the preview': useWhole(preview?.text ?? ''),
    'the items of the batch': useWhole((batch?.list ?? []).map(({ index, item }) => `${index}  ${item}`).join('\n')),
  };
  const [callPart, previewPart, itemsPart] = [parts['the call'], parts['the preview'], parts['the items of the batch']];
  return (
    <div class="exact">
      <Subject title={titleOf(approval)} id={approval.id} />
      <Request approval={approval} />
      {status === 'waiting' && <MayDecide approval={approval} />}
      {call !== undefined && <ApprovalCallPanel call={call} text={callPart} />}
      {call !== undefined && <ApprovalPreviewPanel approval={approval} text={previewPart} again={again} />}
      {batch !== undefined && <ApprovalBatchPanel approval={approval} batch={batch} items={itemsPart} />}
      <Panel title="Who must agree">
        <Rules rules={rules} />
        {warnings.map((warning) => (
          <p class="note" key={warning}>
            {seenText(warning)}
          </p>
        ))}
      </Panel>
      {involved.length > 0 && (
        <Panel title="Who is involved">
          <InvolvedPeople of={involved} rules={rules} />
        </Panel>
      )}
      <Decisions decisions={approval.decisions} />
      {approval.mayDecide && <DecideApproval approval={approval} parts={Object.entries(parts)} decided={again} />}
    </div>
  );
}

function callText({ method, path, body, bodyEncoding }: NonNullable<Approval['call']>): string {
  const shown = bodyEncoding === undefined ? indentedJson(body ?? '') : body;
  return body === undefined ? `${method} ${path}` : `${method} ${path}\n\n${shown}`;
}

/** Who asks, through which automation, and until when. */
function Request({ approval }: { readonly approval: Approval }): JSX.Element {
  const { status, principal, roles, reason, client, createdAt, expires, run, automation, workflow, task, usedBy } = approval;
  const through = [automation, workflow].filter((name) => name !== undefined).map(seenText);
  return (
    <>
      <p class="request">
        <strong>{seenText(principal)}</strong> asks for it
        {through.length === 0 ? ' by a call of their own.' : ', through '}
        {automation !== undefined && (
          <>
            the automation <strong>{seenText(automation)}</strong>
            {workflow === undefined ? '.' : ' with '}
          </>
        )}
        {workflow !== undefined && (
          <>
            the workflow <strong>{seenText(workflow)}</strong>.
          </>
        )}
      </p>
      <Facts
        of={[
          ['State', <Status of={status} />],
          ['Roles of the person', roles.join(', ') || 'none'],
          ['Reason given', reason],
          ['Asked by the agent', client?.name],
          ['Asked', <Time at={createdAt} />],
          ['Expires', <Time at={expires} />],
          ['Task', task],
          ['Run', run === undefined ? undefined : <a href={hrefOf(['runs', run])}>The run that waits</a>],
          ['Used by the record', usedBy === undefined ? undefined : <a href={recordHref(usedBy)}>What was sent</a>],
        ]}
      />
    </>
  );
}

const obstacles: Readonly<Record<NonNullable<Approval['whyNot']>['code'], string>> = {
  over: 'It is over.',
  decided: 'You have decided already.',
  caller: 'You ask for it yourself.',
  involved: 'You are involved.',
  'same-person': 'You are the same person as one of those involved.',
  'not-approver': 'You are not one of its approvers.',
  'newer-version': 'Only a newer gateway understands it.',
};

function MayDecide({ approval: { mayDecide, whyNot } }: { readonly approval: Approval }): JSX.Element {
  if (mayDecide) return <p class="may">You may decide this: you are an approver, and not involved.</p>;
  return (
    <p class="may not">
      <strong>You may not decide this.</strong>{' '}
      {whyNot !== undefined && (
        <>
          {obstacles[whyNot.code]} {seenText(whyNot.detail)}
        </>
      )}
    </p>
  );
}

const mayApprove = {
  false: 'may not grant',
  authors: 'may grant, if they only wrote automation, workflow or form',
  true: 'may grant',
} as const;

function Rules({ rules }: { readonly rules: readonly ApprovalRule[] }): JSX.Element {
  return (
    <Table label="Rules" columns={['Rule', 'Grants', 'Approvers', 'Involved people']}>
      {rules.map(({ name, approvers, count, grants, satisfied, selfApproval }) => (
        <tr key={name}>
          <td>{seenText(name)}</td>
          <td>
            <Status of={satisfied ? 'granted' : 'waiting'} label={`${grants} of ${count}`} />
          </td>
          <td class="grow">
            {[...approvers.roles.map((role) => `role ${role}`), ...approvers.groups.map((group) => `group ${group}`)]
              .map(seenText)
              .join(', ')}
          </td>
          <td>{mayApprove[`${selfApproval}`]}</td>
        </tr>
      ))}
    </Table>
  );
}
