import type { Automation, AutomationData } from '../../src/automations/automation.ts';
import { type SeededRandom, seededRandom } from '../../test/support/seeded-random.ts';

/** Texts that the benchmark's filters look for, in names and descriptions. */
export const needles = {
  /** In one document of 1,000. */
  rare: 'São Paulo',
  /** In one document of 10. */
  common: 'Zürich',
  none: 'no such thing',
} as const;

/** The groups in the access lists of documents. */
export const groupNames = Array.from({ length: 20 }, (_, index) => `team-${String(index + 1).padStart(2, '0')}`);

const deeds = ['Audit', 'Back up', 'Check', 'Decommission', 'Migrate', 'Provision', 'Reconcile', 'Renew', 'Rotate', 'Upgrade'];
const things = [
  'BGP peerings',
  'DNS zones',
  'EVPN services',
  'IPsec tunnels',
  'L3VPN sites',
  'NTP servers',
  'SNMP users',
  'VLANs',
];
const places = ['Bern', 'Kraków', 'Lima', 'Lyon', 'Málaga', 'Oslo', 'Porto', 'Reykjavík', needles.common, 'İzmir'];
const customers = ['Åkesson', 'Brännström', 'Contoso', 'Delgado', 'Ekström', 'Fabrikam', 'Gómez', 'Nordwind'];
const intervals = ['5 minutes', '15 minutes', '1 hour', '6 hours', '1 day', '1 week', '1 month'];

/**
 * The access lists of documents that have some. `usual`: one or two groups, which makes some two hundred sets of readers. `scattered`: up
 * to six groups, so that nearly each document has its own set.
 */
export type GroupLists = 'usual' | 'scattered';

/** The document of that number, the same in each run, with realistic name, description and group lists. */
export function documentOf(number: number, lists: GroupLists = 'usual'): Automation {
  const random = seededRandom(Math.imul(number + 1, 0x9e3779b1));
  const { pick, chance, whole } = random;
  const place = (): string => (chance(0.001) ? needles.rare : pick(places));
  const at = (days: number): string => new Date(Date.UTC(2026, 0, 1) + whole(0, days * 86_400_000)).toISOString();
  const isRestricted = chance(0.1);
  return {
    _id: number.toString(16).padStart(24, '0'),
    name: `${pick(deeds)} ${pick(things)} ${place()} ${pick(customers)} ${String(number).padStart(7, '0')}`,
    data: {
      ...(isRestricted ? { gbac: groupLists(random, lists) } : {}),
      lastUpdated: at(300),
      ...(chance(0.95) ? { description: descriptionOf(random, place()) } : {}),
      workflowId: digits(whole(0, 50_000)),
      ...(chance(0.3) ? { formId: digits(whole(0, 5_000)) } : {}),
    },
    lastModifiedBy: `user-${whole(0, 200)}@example.net`,
    ...(chance(0.8) ? { lastRunAt: at(300), nextRunAt: at(400) } : {}),
    ...(chance(0.7) ? { repeatInterval: pick(intervals) } : {}),
  };
}

/** A text of some 120 bytes. */
function descriptionOf({ pick, whole }: SeededRandom, place: string): string {
  const work = `${pick(deeds)} the ${pick(things)} of ${pick(customers)} in ${place}`;
  return `${work} at ${whole(0, 24)}:00, write a report and send it to ${pick(customers)} where anything differs from the plan.`;
}

function groupLists({ pick, chance, whole }: SeededRandom, lists: GroupLists): NonNullable<AutomationData['gbac']> {
  const some = (most: number): readonly string[] => [
    ...new Set(Array.from({ length: whole(1, most + 1) }, () => pick(groupNames))),
  ];
  const writes = chance(0.5);
  if (lists === 'scattered') return { write: writes ? some(3) : [], read: some(3) };
  const read = some(2);
  return { write: writes ? read.slice(0, 1) : [], read };
}

function digits(number: number): string {
  return number.toString(16).padStart(24, 'a');
}
