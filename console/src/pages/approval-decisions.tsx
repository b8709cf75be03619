import type { JSX } from 'preact';
import type { ApprovalDecision } from '#client/gateway.ts';
import { Panel, Time } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { seenText } from '../texts.ts';

/** What people decided, with their reasons. */
export function Decisions({ decisions }: { readonly decisions: readonly ApprovalDecision[] }): JSX.Element | null {
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
