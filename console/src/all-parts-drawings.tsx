import type { JSX } from 'preact';
import { Panel } from './parts/basics.tsx';
import { Chart } from './parts/chart.tsx';
import { Id } from './parts/copy.tsx';
import { Icon, iconNames } from './parts/icon.tsx';
import { InputForm } from './parts/input-form.tsx';
import { Later } from './parts/later.tsx';
import { NeededRight } from './parts/needed-right.tsx';
import { Outcomes } from './parts/outcomes.tsx';
import { Tabs } from './parts/tabs.tsx';
import { flatSchema } from './schema-form.ts';

const at = '2026-03-01T22:00:00.000Z';
const later = '2026-03-01T22:00:01.500Z';

const ended = (['completed', 'faulted', 'cancelled', 'suspended', 'running'] as const).map((status, place) => {
  return { id: String(place), status, ...(place < 3 ? { endedAt: later } : {}) };
});
const steps = Array.from({ length: 24 }, (_, hour) => ({
  at: new Date(Date.parse(at) + hour * 3_600_000).toISOString(),
  counts: [(hour * 7) % 11, hour % 5 === 0 ? 2 : 0, hour % 7 === 0 ? 1 : 0],
  level: hour % 6 === 0 ? undefined : 400 + 90 * (hour % 4),
  ...(hour === 3 ? { href: '#main' } : {}),
}));

const schema = {
  type: 'object',
  required: ['devices'],
  properties: {
    devices: { type: 'array', items: { type: 'string' }, title: 'Devices' },
    limit: { type: 'integer', title: 'Limit', description: 'How many at once.', default: 10 },
    deep: { type: 'boolean', title: 'Deep check' },
    mode: { type: 'string', enum: ['fast', 'slow'] },
    vpn: { type: 'string', pattern: '^[a-z]+$' },
  },
};

/** Icons, charts, marks and what is around them, in every state. */
export function Drawings(): JSX.Element {
  return (
    <>
      <Panel title="Icons">
        <ul class="plain buttons">
          {iconNames.map((name) => (
            <li key={name}>
              <Icon of={name} /> {name}
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Charts">
        <Chart
          label="Runs by outcome"
          series={[
            ['completed', 'good'],
            ['faulted', 'bad'],
            ['cancelled', 'calm'],
          ]}
          steps={steps}
          line={{ title: 'p95', text: (level) => `${level} ms` }}
        />
        <Chart label="Nothing" series={[['completed', 'good']]} steps={steps.map((step) => ({ ...step, counts: [0] }))} />
      </Panel>
      <Panel title="Outcomes">
        <Outcomes of={ended} /> <Outcomes of={[]} />
      </Panel>
      <Panel title="Ids and rights">
        <p>
          <Id of="65f0c2a1b4d3e2f1a0b9c8d7" /> <Id of="019ab2c4-5f60-7d31-8a52-000000000001" />
        </p>
        <NeededRight of="createAutomation" to="create an automation" />
        <NeededRight of="testAdapter" to="test an adapter" groups={['noc']} />
      </Panel>
      <Panel title="Input">
        <form aria-label="Input by a schema">
          <InputForm schema={flatSchema(schema)} input='{"devices":["ce0"]}' />
        </form>
        <form aria-label="Input as JSON">
          <InputForm schema={undefined} input='{"limit":18446744073709551615}' />
        </form>
      </Panel>
      <Panel title="Tabs">
        <Tabs
          label="Views"
          of={[
            ['', 'Overview'],
            ['history', 'History'],
          ]}
        />
        <Later name="part" load={() => new Promise(() => {})} />
      </Panel>
    </>
  );
}
