import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditVerification } from '#client/gateway.ts';
import { change } from '../change.ts';
import { Action } from '../parts/action.tsx';
import { Panel } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { timeText } from '../texts.ts';

/** What the parts of a verification found together. A `cursor`: it goes on. */
type Found = Omit<AuditVerification, 'checkpoints'>;

const nothing: Found = { chains: 0, records: 0, problems: [], lost: [] };
/** Problems that the page lists. */
const shownProblems = 20;

/** Verifies the chains of the audit log, and says in words what came of it. */
export function ChainVerification(): JSX.Element {
  const [found, setFound] = useState<Found | undefined>(undefined);
  const leave = useRef(new AbortController());
  useEffect(() => () => leave.current.abort(), []);
  const verify = async (): Promise<void> => {
    const { signal } = leave.current;
    setFound(undefined);
    let sum = nothing;
    do {
      const body = sum.cursor === undefined ? {} : { cursor: sum.cursor };
      sum = added(sum, (await change('verifyAudit', { body, signal })).value);
      setFound(sum);
    } while (sum.cursor !== undefined && !signal.aborted);
  };
  return (
    <Panel title="Tampering">
      <p>Records are chained: a record that was changed, removed, inserted, swapped or cut off breaks its chain.</p>
      <div class="buttons">
        <Action act={verify}>Verify the chain</Action>
      </div>
      {found !== undefined && <Verdict of={found} />}
    </Panel>
  );
}

function added(sum: Found, { checkpoints: _none, ...part }: AuditVerification): Found {
  const times = [sum.from, sum.to, part.from, part.to].filter((time) => time !== undefined).sort();
  const [from, to] = [times[0], times.at(-1)];
  return {
    chains: sum.chains + part.chains,
    records: sum.records + part.records,
    problems: [...sum.problems, ...part.problems],
    lost: [...sum.lost, ...part.lost],
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(part.cursor !== undefined && { cursor: part.cursor }),
  };
}

function Verdict({ of: { records, chains, problems, lost, from, to, cursor } }: { readonly of: Found }): JSX.Element {
  const count = `${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`;
  const period = from === undefined || to === undefined ? '' : `, from ${timeText(from)} to ${timeText(to)}`;
  return (
    <>
      <p role="status">
        {cursor !== undefined && `${count} verified so far. It goes on…`}
        {cursor === undefined && problems.length === 0 && (
          <>
            <Status of="ok" label="No record was changed." /> {count} in {chains} {chains === 1 ? 'chain' : 'chains'}
            {period}.
          </>
        )}
        {cursor === undefined && problems.length > 0 && `${count} verified${period}.`}
      </p>
      {problems.length > 0 && <Problems of={problems} />}
      {lost.map(({ chain, from: first, to: last }) => (
        <p key={`${chain}/${first}`}>
          The store lost{' '}
          <code>
            {chain}/{first}
          </code>{' '}
          to{' '}
          <code>
            {chain}/{last}
          </code>{' '}
          with its last commits, as a gateway noticed.
        </p>
      ))}
      {cursor === undefined && (
        <p class="note">
          Who has the store has its key too. Only checkpoints that are kept elsewhere reveal a log that was rewritten with it:{' '}
          <code>orchestration-gateway audit verify --checkpoints FILE</code> compares it with them.
        </p>
      )}
    </>
  );
}

function Problems({ of }: { readonly of: readonly string[] }): JSX.Element {
  return (
    <div class="failure" role="alert">
      <p>
        <strong>The audit log was tampered with</strong>
      </p>
      <p>Of each chain, the first record that is not as a gateway wrote it. Records after it may be right.</p>
      <ul>
        {of.slice(0, shownProblems).map((problem) => (
          <li key={problem}>
            <code>{problem}</code>
          </li>
        ))}
      </ul>
      {of.length > shownProblems && (
        <p class="note">
          The first {shownProblems} of {of.length} problems.
        </p>
      )}
    </div>
  );
}
