import type { JSX } from 'preact';
import type { Approval, ApprovalCall, ApprovalPreview, ApprovalRule, InvolvedPerson } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { useLive } from '../live.ts';
import { useLoad } from '../load.ts';
import { Action, useSending } from '../parts/action.tsx';
import { Empty, Facts, Panel, Table, Text, Time } from '../parts/basics.tsx';
import { Diff } from '../parts/diff.tsx';
import { Field, textOf } from '../parts/field.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { Status } from '../parts/status.tsx';
import { gateway } from '../session.ts';
import { indentedJson, seenText } from '../texts.ts';
import { titleOf } from './approvals.tsx';

/** One approval: the exact call, what it would change, and the decision. */
export function ApprovalPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoad(async (signal) => (await gateway.readApproval({ path: { id }, signal })).value, [id]);
  useLive({ every: 1_000 }, loaded.again);
  return (
    <Loading of={loaded}>
      {(approval) => (
        <>
          <h2 class="name">{seenText(titleOf(approval))}</h2>
          <ApprovalFacts approval={approval} />
          {approval.call !== undefined && <Call call={approval.call} />}
          {approval.call !== undefined && <Preview approval={approval} again={loaded.again} />}
          <Rules rules={approval.rules} />
          <Decisions approval={approval} />
          {approval.mayDecide && <Decide id={approval.id} decided={loaded.again} />}
          {approval.status === 'waiting' && approval.whyNot !== undefined && (
            <p class="note">You may not decide this. {seenText(approval.whyNot.detail)}</p>
          )}
          {approval.warnings?.map((warning) => (
            <p class="note" key={warning}>
              {seenText(warning)}
            </p>
          ))}
        </>
      )}
    </Loading>
  );
}

function ApprovalFacts({ approval }: { readonly approval: Approval }): JSX.Element {
  const { status, principal, roles, involved, reason, createdAt, expires, run, automation, workflow, usedBy } = approval;
  return (
    <Facts
      of={[
        ['State', <Status of={status} />],
        ['Asked by', `${principal} (${roles.join(', ')})`],
        ['Had a hand in it', involved.length === 0 ? undefined : involved.map(handOf).join(', ')],
        ['Reason given', reason],
        ['Asked', <Time at={createdAt} />],
        ['Expires', <Time at={expires} />],
        ['Automation', automation],
        ['Workflow', workflow],
        ['Run', run === undefined ? undefined : <a href={hrefOf(['runs', run])}>{run}</a>],
        ['Used by the record', usedBy === undefined ? undefined : <code>{usedBy}</code>],
      ]}
    />
  );
}

function handOf({ principal, as }: InvolvedPerson): string {
  return `${principal} (${as.join(', ')})`;
}

function Call({ call }: { readonly call: ApprovalCall }): JSX.Element {
  const { route, adapter, method, path, headers, user, body, bodyEncoding, redacted, repeatable, secrets = [] } = call;
  return (
    <Panel title="The call, as it would leave">
      <Facts
        of={[
          ['Route', route],
          ['Adapter', adapter],
          ['User', user],
          ...(secrets.length === 0
            ? []
            : [['Secrets', secrets.map(({ name, place }) => `${name} (${place})`).join(', ')] as const]),
          ...Object.entries(headers).map(([name, value]) => [name, value] as const),
        ]}
      />
      <Text
        of={`${method} ${path}${body === undefined ? '' : `\n\n${bodyEncoding === undefined ? indentedJson(body) : body}`}`}
        label="The call"
        isWhole
      />
      {bodyEncoding !== undefined && <p class="note">The body is in base64.</p>}
      {repeatable && <p class="note">The writer of the workflow says that this call changes nothing: the run may repeat it.</p>}
      {redacted && <p class="note">Secrets are masked. They are compared all the same.</p>}
    </Panel>
  );
}

function Preview({
  approval: { id, status, preview },
  again,
}: {
  readonly approval: Approval;
  readonly again: () => void;
}): JSX.Element {
  return (
    <Panel title="What it would change">
      {preview === undefined ? <Empty>No preview was taken.</Empty> : <PreviewText preview={preview} />}
      {status === 'waiting' && (
        <div class="buttons">
          <Action
            act={async () => {
              await change('previewApproval', { path: { id } });
              again();
            }}
          >
            Take it afresh
          </Action>
        </div>
      )}
    </Panel>
  );
}

function PreviewText({ preview: { kind, text, reason, at } }: { readonly preview: ApprovalPreview }): JSX.Element {
  return (
    <>
      {text === undefined && <p>There is no preview: {reason}</p>}
      {text?.trim() === '' && <p>Nothing would change.</p>}
      {text !== undefined && text.trim() !== '' && <Diff of={text} label="The preview" />}
      <p class="note">
        {kind === 'none' ? 'Asked' : `By the orchestrator (${kind})`} <Time at={at} />
      </p>
    </>
  );
}

const mayApprove = { false: 'may not approve', authors: 'authors alone may approve', true: 'may approve' } as const;

function Rules({ rules }: { readonly rules: readonly ApprovalRule[] }): JSX.Element {
  return (
    <Panel title="Rules">
      <Table label="Rules" columns={['Rule', 'Grants', 'Approvers', 'People of the call']}>
        {rules.map(({ name, approvers, count, grants, satisfied, selfApproval }) => (
          <tr key={name}>
            <td>{name}</td>
            <td>
              <Status of={satisfied ? 'granted' : 'waiting'} label={`${grants} of ${count}`} />
            </td>
            <td class="grow">{[...approvers.roles, ...approvers.groups].join(', ')}</td>
            <td>{mayApprove[`${selfApproval}`]}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function Decisions({ approval: { decisions } }: { readonly approval: Approval }): JSX.Element | null {
  if (decisions.length === 0) return null;
  return (
    <Panel title="Decisions">
      <ul class="plain">
        {decisions.map(({ as, principal, at, reason, withdrawn }) => (
          <li key={`${at}${principal}`}>
            <Status of={as} /> by {seenText(principal)} <Time at={at} />: {seenText(reason)}
            {withdrawn !== undefined && (
              <>
                {' '}
                (counts no more since <Time at={withdrawn.at} />: {seenText(withdrawn.reason)})
              </>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Decide({ id, decided }: { readonly id: string; readonly decided: () => void }): JSX.Element {
  const { isBusy, error, submit } = useSending(async (form) => {
    const body = { reason: textOf(form, 'reason') };
    await change(textOf(form, 'as') === 'reject' ? 'rejectApproval' : 'grantApproval', { path: { id }, body });
    decided();
  });
  return (
    <Panel title="Your decision">
      <form aria-label="Decide" onSubmit={submit}>
        <fieldset>
          <legend>Decision</legend>
          <label class="choice">
            <input type="radio" name="as" value="grant" required />{' '}
            <span>Grant: the call may be made once, exactly as shown.</span>
          </label>
          <label class="choice">
            <input type="radio" name="as" value="reject" required /> <span>Reject: the call is not made.</span>
          </label>
        </fieldset>
        <Field label="Reason" hint="Who asked reads it, and the audit log keeps it.">
          {(ids) => <textarea {...ids} name="reason" rows={2} required />}
        </Field>
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Deciding…' : 'Decide'}
        </button>
        {error !== undefined && <Failure error={error} />}
      </form>
    </Panel>
  );
}
