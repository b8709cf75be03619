import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Adapter, type AdapterTest, durationText } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { change } from '../change.ts';
import { Subject } from '../frame/subject.ts';
import { CallPicture } from '../home/pictures.tsx';
import { useLoad } from '../load.ts';
import { Action } from '../parts/action.tsx';
import { Empty, Facts, Panel, Table, Time } from '../parts/basics.tsx';
import { Icon } from '../parts/icon.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { NeededRight } from '../parts/needed-right.tsx';
import { Status } from '../parts/status.tsx';
import { TimeRangePicker } from '../parts/time-range.tsx';
import { gateway, may } from '../session.ts';
import { seenText } from '../texts.ts';

/** All adapter instances, as this gateway knows them. */
export function Adapters(): JSX.Element {
  const adapters = useLoad(async (signal) => (await gateway.listAdapters({ signal })).value.list, []);
  return (
    <>
      <div class="buttons">
        <button type="button" onClick={adapters.again}>
          <Icon of="history" /> Refresh
        </button>
        {may('reloadAdapters') && (
          <Action
            act={async () => {
              await change('reloadAdapters', {});
              adapters.again();
            }}
            confirm="Load the configuration file again? Calls in flight finish on the old adapters. A faulty file changes nothing."
          >
            Reload the configuration
          </Action>
        )}
      </div>
      <Loading of={adapters}>
        {(list) => (list.length === 0 ? <Empty>The configuration names no adapter.</Empty> : <AdapterTable adapters={list} />)}
      </Loading>
    </>
  );
}

function AdapterTable({ adapters }: { readonly adapters: readonly Adapter[] }): JSX.Element {
  return (
    <Table
      label="Adapters"
      columns={['State', 'Adapter', 'Kind', 'In flight', 'Waiting', 'Since', 'Last error']}
      extra={[3, 4, 5, 6]}
    >
      {adapters.map((adapter) => (
        <tr key={adapter.name}>
          <td>
            <Status of={adapter.state} />
          </td>
          <td>
            <a href={hrefOf(['adapters', adapter.name])}>{seenText(adapter.name)}</a>
          </td>
          <td>{adapter.kind}</td>
          <td class="number">{sum(adapter, 'inFlight')}</td>
          <td class="number">{sum(adapter, 'waiting')}</td>
          <td class="fixed">
            <Time at={adapter.since} />
          </td>
          <td class="grow">{adapter.state === 'online' ? '' : adapter.lastError?.detail}</td>
        </tr>
      ))}
    </Table>
  );
}

function sum({ urls }: Adapter, field: 'inFlight' | 'waiting'): number {
  return urls.reduce((total, url) => total + url[field], 0);
}

/** One adapter instance: its addresses, its last error, and a test of it. */
export function AdapterPage({ name }: { readonly name: string }): JSX.Element {
  const adapters = useLoad(async (signal) => (await gateway.listAdapters({ signal })).value.list, [name]);
  return (
    <Loading of={adapters}>
      {(list) => {
        const adapter = list.find((one) => one.name === name);
        if (adapter === undefined) return <Failure error={new Error(`There is no adapter ${JSON.stringify(name)}.`)} />;
        return (
          <>
            <Subject title={name} />
            <AdapterDetails adapter={adapter} again={adapters.again} />
          </>
        );
      }}
    </Loading>
  );
}

function AdapterDetails({ adapter, again }: { readonly adapter: Adapter; readonly again: () => void }): JSX.Element {
  const { lastError, healthInterval } = adapter;
  return (
    <>
      <Facts
        of={[
          ['State', <Status of={adapter.state} />],
          ['Since', <Time at={adapter.since} />],
          ['Kind', adapter.kind],
          ['Calls at once', `${adapter.concurrency}, ${adapter.queue} may wait`],
          ['Probes', healthInterval === undefined ? 'off' : `every ${durationText(healthInterval)}`],
          ['Certificates', adapter.verify ? 'verified' : 'not verified: any certificate is accepted'],
          ['Proxy', adapter.proxy ? 'yes' : undefined],
        ]}
      />
      {lastError !== undefined && (
        <div class="failure">
          <p>
            <strong>{adapter.state === 'online' ? 'Last error, over now' : 'Last error'}</strong> <Time at={lastError.at} />
          </p>
          <p>{lastError.detail}</p>
          <p class="note">
            <code>{lastError.code}</code>
          </p>
        </div>
      )}
      <Panel title="Addresses">
        <Table label="Addresses" columns={['State', 'Address', 'Role', 'Breaker', 'In flight', 'Waiting', 'Since']}>
          {adapter.urls.map((url) => (
            <tr key={url.url}>
              <td>
                <Status of={url.state} />
              </td>
              <td class="grow">
                <code>{url.url}</code>
              </td>
              <td>{url.role ?? '–'}</td>
              <td>
                <Status of={url.breaker === 'half-open' ? 'pending' : url.breaker} label={url.breaker} />
              </td>
              <td class="number">{url.inFlight}</td>
              <td class="number">{url.waiting}</td>
              <td class="fixed">
                <Time at={url.since} />
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
      <AdapterTrial name={adapter.name} again={again} />
      {may('readCallStatistics') && <TimeRangePicker byDefault="24h" />}
      {may('readCallStatistics') && <CallPicture adapter={adapter.name} round={0} />}
    </>
  );
}

function AdapterTrial({ name, again }: { readonly name: string; readonly again: () => void }): JSX.Element {
  const [result, setResult] = useState<AdapterTest | undefined>(undefined);
  if (!may('testAdapter')) return <NeededRight of="testAdapter" to="test this adapter" />;
  return (
    <Panel title="Test">
      <p>Each address is asked once: name, connection, TLS, answer and credentials. Nothing is changed.</p>
      <div class="buttons">
        <Action
          tone="main"
          act={async () => {
            setResult((await change('testAdapter', { path: { adapterId: name } })).value);
            again();
          }}
        >
          Test now
        </Action>
      </div>
      {result?.urls.map(({ url, ok, steps }) => (
        <div key={url}>
          <h3>
            <Status of={ok ? 'ok' : 'failed'} /> <code>{url}</code>
          </h3>
          <ul class="steps">
            {steps.map(({ step, ok: passed, milliseconds, detail }) => (
              <li key={step}>
                <Status of={passed ? 'ok' : 'failed'} label={step} /> {durationText(milliseconds)} {seenText(detail ?? '')}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </Panel>
  );
}
