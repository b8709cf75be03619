import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hrefOf } from '../address.ts';
import { type EarlierCall, earlierCalls, forgetCall, keepCall } from '../explorer-history.ts';
import { Empty, Panel, Table, Time } from '../parts/basics.tsx';
import { seenText } from '../texts.ts';

/** What this browser sent and saved. Each leads to the explorer, filled in; its body and headers are not kept. */
export function EarlierCalls({ sent }: { readonly sent: EarlierCall | undefined }): JSX.Element {
  const [, setRound] = useState(0);
  const again = (): void => setRound((round) => round + 1);
  const saved = earlierCalls('saved');
  const history = earlierCalls('history');
  return (
    <>
      <Panel title="Saved in this browser">
        {sent !== undefined && <Save call={sent} saved={again} />}
        {saved.length === 0 ? (
          <Empty>Send a call, then save it under a name.</Empty>
        ) : (
          <Calls of={saved} label="Saved calls" forget={(call) => forgetCall('saved', call)} again={again} />
        )}
      </Panel>
      {history.length > 0 && (
        <Panel title="Sent from this browser">
          <Calls of={history} label="Sent calls" forget={(call) => forgetCall('history', call)} again={again} />
        </Panel>
      )}
    </>
  );
}

function Save({ call, saved }: { readonly call: EarlierCall; readonly saved: () => void }): JSX.Element {
  const [name, setName] = useState('');
  return (
    <form
      class="buttons"
      aria-label="Save the call"
      onSubmit={(event) => {
        event.preventDefault();
        keepCall('saved', { ...call, name });
        setName('');
        saved();
      }}
    >
      <input
        class="short"
        aria-label="Name of the saved call"
        placeholder="Name"
        required
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit">Save the call</button>
    </form>
  );
}

interface CallsProps {
  readonly of: readonly EarlierCall[];
  readonly label: string;
  readonly forget: (call: EarlierCall) => void;
  readonly again: () => void;
}

function Calls({ of, label, forget, again }: CallsProps): JSX.Element {
  return (
    <Table label={label} columns={['Call', 'Adapter', 'Sent', 'Forget']} extra={[2, 3]}>
      {of.map((call) => {
        const { kind, adapter, method, path, accept, name } = call;
        const title = seenText(`${method} ${path}`);
        return (
          <tr key={`${kind} ${adapter} ${title} ${accept}`}>
            <td class="grow">
              <a href={hrefOf(['explorer'], { kind, adapter, method, path, accept })}>{seenText(name ?? title)}</a>
              {name !== undefined && <div class="soft">{title}</div>}
            </td>
            <td>{seenText(adapter)}</td>
            <td class="fixed">
              <Time at={call.at} />
            </td>
            <td>
              <button
                type="button"
                aria-label={`Forget ${name ?? title}`}
                onClick={() => {
                  forget(call);
                  again();
                }}
              >
                Forget
              </button>
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
