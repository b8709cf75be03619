import type { JSX } from 'preact';
import type { ApprovalRule, InvolvedPerson } from '#client/gateway.ts';
import { Table } from '../parts/basics.tsx';
import { seenText } from '../texts.ts';

type Part = InvolvedPerson['as'][number];

const words: Readonly<Record<Part, string>> = {
  starter: 'started the run',
  scheduler: 'scheduled the automation',
  resumer: 'resumed the schedule',
  author: 'wrote the automation',
  workflow: 'stored a workflow that it runs',
  form: 'wrote the form',
  event: 'sent an event that the run took',
  decision: 'decided about a call of the run',
  parent: 'had a part in the run that began this one',
  repeated: 'had a part in the run that this one repeats',
};

/** With `selfApproval: authors`, these parts keep a person from granting. */
const acting: ReadonlySet<Part> = new Set(['starter', 'scheduler', 'resumer', 'event', 'decision']);

/** What a person did, in words. */
function partsText(as: readonly Part[]): string {
  return as.map((part) => words[part]).join(', ');
}

interface PeopleProps {
  readonly of: readonly InvolvedPerson[];
  /** Of an approval: they say who of these people may grant all the same. */
  readonly rules?: readonly ApprovalRule[];
}

/** The people who had a part in a call or a run, each with what they did. */
export function InvolvedPeople({ of, rules }: PeopleProps): JSX.Element {
  return (
    <Table label="Involved people" columns={rules === undefined ? ['Who', 'Part'] : ['Who', 'Part', 'May grant']}>
      {of.map(({ principal, as }) => (
        <tr key={principal}>
          <td>{seenText(principal)}</td>
          <td class="grow">{partsText(as)}</td>
          {rules !== undefined && <td>{rules.every((rule) => letsGrant(rule, as)) ? 'as an approver' : 'no, involved'}</td>}
        </tr>
      ))}
    </Table>
  );
}

function letsGrant({ selfApproval }: ApprovalRule, as: readonly Part[]): boolean {
  if (selfApproval === 'authors') return !as.some((part) => acting.has(part));
  return selfApproval;
}
