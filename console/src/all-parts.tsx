/** A page of every part of the console in every state, for its tests and pictures alone: no build of the console has it. */
import { type JSX, render } from 'preact';
import { GatewayError, type Run, type RunTask } from '#client/gateway.ts';
import { Drawings } from './all-parts-drawings.tsx';
import { showTips } from './frame/tips.ts';
import { Timeline } from './pages/timeline.tsx';
import { Action } from './parts/action.tsx';
import { Empty, Facts, Panel, Prose, Table, Text, Time } from './parts/basics.tsx';
import { Diff } from './parts/diff.tsx';
import { Area, Field, Input, Select } from './parts/field.tsx';
import { Filters } from './parts/filters.tsx';
import { LiveSign } from './parts/live-sign.tsx';
import { Failure, Loading } from './parts/loading.tsx';
import { Reply, Snippets } from './parts/reply.tsx';
import { Status, statuses } from './parts/status.tsx';
import { TextDiff } from './parts/text-diff.tsx';
import { TimeRangePicker } from './parts/time-range.tsx';
import { WorkflowGraph } from './parts/workflow-graph.tsx';
import { principal } from './session.ts';
import './style.css';

const at = '2026-03-01T22:00:00.000Z';
const later = '2026-03-01T22:00:01.500Z';
const none = (): void => {};

function Signs(): JSX.Element {
  return (
    <>
      <Panel title="States">
        <ul class="plain buttons">
          {statuses.map((status) => (
            <li key={status}>
              <Status of={status} />
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Live">
        {(['connecting', 'live', 'away', 'asking', 'ended'] as const).map((liveness) => (
          <LiveSign key={liveness} of={liveness} />
        ))}
      </Panel>
      <Panel title="Buttons">
        <div class="buttons">
          <Action act={async () => {}}>Plain</Action>
          <Action tone="main" act={async () => {}}>
            Main
          </Action>
          <Action tone="danger" confirm="Really?" act={async () => {}}>
            Danger
          </Action>
          <Action act={() => new Promise(none)}>Busy</Action>
          <Action act={() => Promise.reject(forbidden)}>Refused</Action>
        </div>
      </Panel>
    </>
  );
}

function Fields(): JSX.Element {
  return (
    <>
      <Filters label="Filters">
        <Input label="Text" name="text" placeholder="an example" />
        <Input label="Text with a hint" name="hinted" value="typed" hint="What it is for." />
        <Select
          label="Choice"
          name="choice"
          options={[
            ['', 'any'],
            ['one', 'one'],
          ]}
        />
      </Filters>
      <TimeRangePicker />
      <TimeRangePicker byDefault="24h" />
      <Panel title="Fields">
        <Input label="Needed" name="needed" required />
        <Input label="Secret" name="secret" type="password" />
        <Area label="Lines" name="lines" value={'one\ntwo'} rows={2} />
        <Field label="Own control" hint="Its hint.">
          {(ids) => <textarea {...ids} rows={2} />}
        </Field>
        <fieldset>
          <legend>One of two</legend>
          {['first', 'second'].map((name) => (
            <label key={name} class="choice">
              <input type="radio" name="radio" value={name} /> <span>{name}</span>
            </label>
          ))}
        </fieldset>
      </Panel>
    </>
  );
}

const problem = {
  type: '/docs',
  title: 'The role does not allow this',
  status: 403,
  detail: 'Your roles do not allow this.',
  code: 'forbidden',
  requestId: 'r-1',
} as const;
const forbidden = new GatewayError(problem.detail, { code: 'forbidden', status: 403, problem });
const invalid = new GatewayError('The request has problems.', {
  code: 'invalid-request',
  status: 400,
  problem: {
    ...problem,
    title: 'The request is not valid',
    status: 400,
    code: 'invalid-request',
    errors: [
      { pointer: '/name', detail: 'is missing' },
      { pointer: '', detail: 'is no task', line: 3, column: 7 },
    ],
  },
});
const states = [
  ['Loading', { value: undefined, error: undefined, isLoading: true }],
  ['Forbidden', { value: undefined, error: forbidden, isLoading: false }],
  ['Failed', { value: undefined, error: new GatewayError('No answer.', { code: 'no-reply' }), isLoading: false }],
  ['Failed, with the last value', { value: 'the last value', error: invalid, isLoading: false }],
] as const;

function Answers(): JSX.Element {
  return (
    <>
      {states.map(([title, state]) => (
        <Panel key={title} title={title}>
          <Loading of={{ ...state, again: none }}>{(value) => <p>{value}</p>}</Loading>
        </Panel>
      ))}
      <Panel title="Failure of the console">
        <Failure error={new Error('Something is missing.')} />
      </Panel>
      <Panel title="Nothing">
        <Empty>Nothing is there.</Empty>
      </Panel>
      <Reply of={{ status: 200, headers: [['content-type', 'text/html']], text: '{"a":1}', isCut: false, milliseconds: 12 }} />
      <Reply of={{ status: 204, headers: [], text: '', isCut: false, milliseconds: 1200 }} />
      <Reply of={{ status: 200, headers: [], text: 'x'.repeat(2_000), isCut: true, milliseconds: 90_000 }} />
      <Snippets
        of={{ method: 'POST', url: 'https://gateway.example/x', headers: {}, body: '{}', operation: 'restCall', options: '{}' }}
      />
    </>
  );
}

function Texts(): JSX.Element {
  return (
    <>
      <Facts
        of={[
          ['Time from now', <Time at={at} />],
          ['Exact time', <Time at={at} exact />],
          ['No time', <Time at={undefined} />],
          ['A long word', 'W'.repeat(80)],
        ]}
      />
      <Panel title="Text">
        <Text of={`turned \u202Eround`} label="A text" />
        <Text of={'x'.repeat(100_001)} label="A long text" />
      </Panel>
      <Panel title="Prose">
        <p>
          <Prose>{'A text with `code` in it.'}</Prose>
        </p>
      </Panel>
      <Panel title="Diff">
        <Diff of={'interface eth0\n+ mtu 9000\n- mtu 1500\nno shutdown'} label="A preview" />
      </Panel>
      <Panel title="Table">
        <Table label="Table" columns={['State', 'Name', 'More']} extra={[3]}>
          {[1, 2].map((row) => (
            <tr key={row}>
              <td>
                <Status of="completed" />
              </td>
              <td class="grow">
                <a href="#main">A name</a>
                <div class="soft">and what it is for</div>
              </td>
              <td class="fixed">
                <Time at={at} />
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
    </>
  );
}

const tasks = (['completed', 'faulted', 'running', 'waiting', 'suspended', 'cancelled', 'skipped', 'pending'] as const).map(
  (status, place): RunTask => ({
    id: String(place),
    reference: `/do/0/outer/do/${place}/${status}`,
    name: status,
    attempt: place === 1 ? 2 : 1,
    status: status as RunTask['status'],
    begin: at,
    ...(place < 2 ? { end: later } : {}),
    ...(place === 1
      ? { error: { type: 'urn:x:timeout', status: 504, title: 'Timeout', detail: 'It took too long.', instance: '/do/0' } }
      : {}),
    ...(status === 'suspended'
      ? { error: { type: 'urn:orchestration-gateway:errors:outcome-unknown', status: 502, title: 'Unknown', instance: '/do/0' } }
      : {}),
  }),
);

const draft = {
  do: [
    {
      all: {
        for: { each: 'device', in: '.devices' },
        do: [{ ask: { call: 'restCall', with: { uri: 'https://x.example' } } }],
      },
    },
    { safe: { try: [{ pause: { wait: 'PT1S' } }], catch: { do: [{ told: { set: {} } }] } } },
  ],
};

const graphStates = new Map([
  ['/do/0/all', { status: 'running', label: '2 of 5' }],
  ['/do/0/all/do/0/ask', { status: 'completed' }],
  ['/do/1/safe', { status: 'faulted' }],
  ['/do/1/safe/try/0/pause', { status: 'suspended' }],
]);

function AllParts(): JSX.Element {
  return (
    <div class="console">
      <header>
        <div class="head">
          <span class="brand">
            <span class="mark" /> Orchestration Gateway
          </span>
        </div>
      </header>
      <main id="main">
        <h1>Parts of the console</h1>
        <Signs />
        <Drawings />
        <Fields />
        <Answers />
        <Texts />
        <Panel title="What differs">
          <TextDiff before={'one\ntwo\nthree\n'} after={'one\n2\nthree\n'} label="What differs between two texts" />
        </Panel>
        <Panel title="Graph">
          <WorkflowGraph document={draft} />
        </Panel>
        <Panel title="Graph of a run">
          <WorkflowGraph document={draft} states={graphStates} />
        </Panel>
        <Timeline run={run} tasks={tasks} decided={none} />
        <Timeline run={run} tasks={[]} decided={none} />
      </main>
    </div>
  );
}

const run = {
  id: 'run',
  involved: [] as Run['involved'],
  workflow: 'lab.sync',
  version: '1.0.0',
  status: 'suspended',
  startedBy: { principal: 'admin' },
  createdAt: at,
  endedAt: later,
  input: {},
} as const;
principal.value = { username: 'admin', roles: ['admin'], groups: [], operations: ['listAdapters', 'listAutomations', 'whoami'] };
showTips();
const mount = document.getElementById('console');
if (mount !== null) render(<AllParts />, mount);
