import type { JSX } from 'preact';
import type { Place } from './address.ts';
import { AdapterPage, Adapters } from './pages/adapters.tsx';
import { Approvals } from './pages/approvals.tsx';
import { AutomationPage } from './pages/automation.tsx';
import { Automations } from './pages/automations.tsx';
import { Home } from './pages/home.tsx';
import { Runs } from './pages/runs.tsx';
import { Workflows } from './pages/workflows.tsx';
import { Empty } from './parts/basics.tsx';
import type { IconName } from './parts/icon.tsx';
import { Later } from './parts/later.tsx';
import { may } from './session.ts';

/** A page of the navigation, and the pages of its entries. */
interface Section {
  /** The first segment of its address. */
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  /** Whether a role or a right of the caller can use it. */
  readonly isOffered: () => boolean;
  readonly list: () => JSX.Element;
  /** What an entry is called before its name is known, and its page. */
  readonly entry?: readonly [title: string, page: (id: string) => JSX.Element];
  /** Asked for next to the caller's name, where the program of the page is no part of the first load. */
  readonly load?: () => Promise<unknown>;
}

const newAutomation = async () => (await import('./pages/new-automation.tsx')).NewAutomation;
const api = () => import('./pages/api.tsx');
const audit = () => import('./pages/audit.tsx');
const notifications = () => import('./pages/notifications.tsx');
const access = () => import('./pages/access.tsx');
const explorer = () => import('./pages/explorer.tsx');

const sections: readonly Section[] = [
  { name: '', title: 'Home', icon: 'home', isOffered: () => may('whoami'), list: () => <Home /> },
  {
    name: 'automations',
    title: 'Automations',
    icon: 'automations',
    isOffered: () => may('listAutomations'),
    list: () => <Automations />,
    entry: ['Automation', (id) => (id === 'new' ? <Later name="new" load={newAutomation} /> : <AutomationPage id={id} />)],
  },
  {
    name: 'workflows',
    title: 'Workflows',
    icon: 'workflows',
    isOffered: () => may('listWorkflows'),
    list: () => <Workflows />,
    entry: ['Workflow', later(async () => (await import('./workflows/workflow.tsx')).WorkflowPage)],
  },
  {
    name: 'runs',
    title: 'Runs',
    icon: 'runs',
    isOffered: () => may('listRuns'),
    list: () => <Runs />,
    entry: ['Run', later(async () => (await import('./pages/run.tsx')).RunPage)],
  },
  {
    name: 'approvals',
    title: 'Approvals',
    icon: 'approvals',
    isOffered: () => may('listApprovals'),
    list: () => <Approvals />,
    entry: ['Approval', later(async () => (await import('./pages/approval.tsx')).ApprovalPage)],
  },
  {
    name: 'adapters',
    title: 'Adapters',
    icon: 'adapters',
    isOffered: () => may('listAdapters'),
    list: () => <Adapters />,
    entry: ['Adapter', (id) => <AdapterPage name={id} />],
  },
  {
    name: 'explorer',
    title: 'Explorer',
    icon: 'explorer',
    isOffered: () => may('restQuery') || may('restCall'),
    list: () => <Later name="explorer" load={async () => (await explorer()).Explorer} />,
    load: explorer,
  },
  {
    name: 'audit',
    title: 'Audit',
    icon: 'audit',
    isOffered: () => may('listAudit'),
    list: () => <Later name="audit" load={async () => (await audit()).Audit} />,
    entry: ['Record', later(async () => (await import('./pages/audit-record.tsx')).AuditRecordPage)],
    load: audit,
  },
  {
    name: 'notifications',
    title: 'Notifications',
    icon: 'notifications',
    isOffered: () => may('listNotifications'),
    list: () => <Later name="notifications" load={async () => (await notifications()).Notifications} />,
    load: notifications,
  },
  {
    name: 'access',
    title: 'Access',
    icon: 'access',
    isOffered: () => may('whoami'),
    list: () => <Later name="access" load={async () => (await access()).Access} />,
    load: access,
  },
  {
    name: 'api',
    title: 'API',
    icon: 'api',
    isOffered: () => true,
    list: () => <Later name="api" load={async () => (await api()).Api} />,
    entry: ['Operation', later(async () => (await api()).ApiOperationPage)],
    load: api,
  },
];

/** A page of an entry, whose program the browser loads when it is first opened. */
function later(load: () => Promise<(props: { readonly id: string }) => JSX.Element>): (id: string) => JSX.Element {
  const loadFor = async (id: string): Promise<() => JSX.Element> => {
    const Page = await load();
    return () => <Page id={id} />;
  };
  return (id) => <Later name={id} load={() => loadFor(id)} />;
}

/** The pages of the navigation; those that the roles and rights of the caller cannot use are not offered. */
export function menu(): readonly Section[] {
  return sections.filter(({ isOffered }) => isOffered());
}

interface OpenPage {
  /** Until the page says what it is about. */
  readonly title: string;
  readonly body: () => JSX.Element;
  /** The list that an entry is on. */
  readonly above?: Section;
  readonly load?: () => Promise<unknown>;
}

/** The page of an address. */
export function pageOf({ segments }: Place): OpenPage {
  const [name = '', entry, ...more] = segments;
  const section = sections.find((one) => one.name === name);
  if (section === undefined || more.length > 0) return notFound;
  const { title, list, entry: entries, load } = section;
  const loading = load === undefined ? {} : { load };
  if (entry === undefined) return { title, body: list, ...loading };
  if (entries === undefined) return notFound;
  return { title: entries[0], body: () => entries[1](entry), above: section, ...loading };
}

const notFound: OpenPage = {
  title: 'There is no such page',
  body: () => <Empty>The address names no page of the console.</Empty>,
};
