import type { JSX } from 'preact';
import type { Approval, ApprovalBatch, ApprovalCall } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Facts, Panel, Time } from '../parts/basics.tsx';
import { Diff } from '../parts/diff.tsx';
import { countText, seenText, unseenCount } from '../texts.ts';
import { ShowAll, Whole, type WholeText } from './whole-text.tsx';

/** The call, byte for byte but for secrets. */
export function ApprovalCallPanel({ call, text }: { readonly call: ApprovalCall; readonly text: WholeText }): JSX.Element {
  const { route, adapter, headers, user, bodyEncoding, redacted, repeatable, stamped, secrets = [] } = call;
  const all = [call.method, call.path, call.body, user, ...Object.entries(headers).flat()];
  const unseen = all.reduce((sum, part) => sum + unseenCount(part ?? ''), 0);
  return (
    <Panel title="The call, as it would leave">
      {unseen > 0 && (
        <p class="warn">
          <strong>{countText(unseen, 'character')} of the call would be invisible.</strong> Each shows as its number, such as
          ⟨U+202E⟩.
        </p>
      )}
      <Facts
        of={[
          ['Operation', route],
          ['Adapter', adapter],
          ['User', user],
          ...(secrets.length === 0
            ? []
            : [['Secrets', secrets.map(({ name, place }) => `${name} (${place})`).join(', ')] as const]),
          ...Object.entries(headers).map(([name, value]) => [seenText(name), value] as const),
        ]}
      />
      <Whole of={text} label="The call" />
      {bodyEncoding !== undefined && <p class="note">The body is in base64.</p>}
      {repeatable && <p class="note">The writer of the workflow says that this call changes nothing: the run may repeat it.</p>}
      {stamped && <p class="note">The gateway adds a label and a comment to the commit, which name who makes it.</p>}
      {redacted && <p class="note">Secrets are masked. They are compared all the same.</p>}
    </Panel>
  );
}

interface BatchProps {
  readonly approval: Approval;
  readonly batch: ApprovalBatch;
  readonly items: WholeText;
}

/** One decision is for many calls, of which the page shows one. */
export function ApprovalBatchPanel({
  approval: { call },
  batch: { items, run, truncated },
  items: list,
}: BatchProps): JSX.Element {
  return (
    <Panel title="The batch">
      <p>
        <strong>This is one decision for the calls of {countText(items, 'item')}, of which one call is shown.</strong>
      </p>
      <ul>
        <li>
          It covers {call?.method ?? 'the'} calls to {seenText(call?.adapter ?? 'the same host')} from the same task. Their paths
          and bodies may differ.
        </li>
        <li>It holds for the documents that the run began with, and for the items below.</li>
        <li>After the first call it holds until the batch ends, at most 24 hours. Each item uses it once.</li>
        <li>Another rule that fits a call asks for itself.</li>
      </ul>
      {run !== undefined && (
        <p>
          <a href={hrefOf(['runs', run])}>The run with the batch</a>
        </p>
      )}
      <Whole of={list} label="The items" />
      {truncated && <p class="note">There are more items than the gateway shows.</p>}
    </Panel>
  );
}

interface PreviewProps {
  readonly approval: Approval;
  readonly text: WholeText;
  readonly again: () => void;
}

/** What the orchestrator says that the call would change. */
export function ApprovalPreviewPanel({ approval: { id, status, preview }, text, again }: PreviewProps): JSX.Element {
  return (
    <Panel title="What it would change">
      {preview === undefined && <Empty>No preview was taken.</Empty>}
      {preview !== undefined && (
        <>
          {preview.text === undefined && <p>There is no preview: {seenText(preview.reason ?? '')}</p>}
          {preview.text?.trim() === '' && <p>Nothing would change.</p>}
          {text.shown.trim() !== '' && <Diff of={text.shown} label="The preview" isWhole />}
          <ShowAll of={text} label="The preview" />
          <p class="note">
            {preview.kind === 'none' ? 'Asked' : `By the orchestrator (${preview.kind})`} <Time at={preview.at} />
          </p>
        </>
      )}
      {status === 'waiting' && (
        <div class="buttons">
          <Action
            act={async () => {
              await change('previewApproval', { path: { id } });
              again();
            }}
          >
            Retry preview
          </Action>
        </div>
      )}
    </Panel>
  );
}
