import type { JSX } from 'preact';
import type { Place } from './address.ts';
import { Access } from './pages/access.tsx';
import { AdapterPage, Adapters } from './pages/adapters.tsx';
import { Api, ApiOperationPage } from './pages/api.tsx';
import { ApprovalPage } from './pages/approval.tsx';
import { Approvals } from './pages/approvals.tsx';
import { Audit } from './pages/audit.tsx';
import { AutomationPage } from './pages/automation.tsx';
import { Automations } from './pages/automations.tsx';
import { Explorer } from './pages/explorer.tsx';
import { Overview } from './pages/overview.tsx';
import { RunPage } from './pages/run.tsx';
import { Runs } from './pages/runs.tsx';
import { WorkflowPage } from './pages/workflow.tsx';
import { Workflows } from './pages/workflows.tsx';
import { Empty } from './parts/basics.tsx';
import { may } from './session.ts';

interface MenuEntry {
  /** The first segment of its address. */
  readonly name: string;
  readonly title: string;
  readonly isOffered: boolean;
}

/** The pages in the navigation; those that the role of the caller cannot use are not offered. */
export function menu(): readonly MenuEntry[] {
  return [
    { name: '', title: 'Overview', isOffered: may('whoami') },
    { name: 'automations', title: 'Automations', isOffered: may('listAutomations') },
    { name: 'runs', title: 'Runs', isOffered: may('listRuns') },
    { name: 'workflows', title: 'Workflows', isOffered: may('listWorkflows') },
    { name: 'approvals', title: 'Approvals', isOffered: may('listApprovals') },
    { name: 'adapters', title: 'Adapters', isOffered: may('listAdapters') },
    { name: 'explorer', title: 'Explorer', isOffered: may('restQuery') || may('restCall') },
    { name: 'audit', title: 'Audit', isOffered: may('listAudit') },
    { name: 'access', title: 'Access', isOffered: may('explainAccess') },
    { name: 'api', title: 'API', isOffered: true },
  ];
}

const lists: Readonly<Record<string, readonly [title: string, page: () => JSX.Element]>> = {
  '': ['Overview', () => <Overview />],
  automations: ['Automations', () => <Automations />],
  runs: ['Runs', () => <Runs />],
  workflows: ['Workflows', () => <Workflows />],
  approvals: ['Approvals', () => <Approvals />],
  adapters: ['Adapters', () => <Adapters />],
  explorer: ['Explorer', () => <Explorer />],
  access: ['Access', () => <Access />],
  api: ['API', () => <Api />],
  audit: ['Audit', () => <Audit />],
};

const entries: Readonly<Record<string, readonly [title: string, page: (id: string) => JSX.Element]>> = {
  automations: ['Automation', (id) => <AutomationPage id={id} />],
  runs: ['Run', (id) => <RunPage id={id} />],
  workflows: ['Workflow', (id) => <WorkflowPage id={id} />],
  approvals: ['Approval', (id) => <ApprovalPage id={id} />],
  api: ['Operation', (id) => <ApiOperationPage name={id} />],
  adapters: ['Adapter', (id) => <AdapterPage name={id} />],
};

/** The page of an address. */
export function pageOf({ segments }: Place): { readonly title: string; readonly body: JSX.Element } {
  const [name = '', entry, ...more] = segments;
  if (more.length === 0 && entry !== undefined && Object.hasOwn(entries, name)) {
    const [title, page] = entries[name] ?? ['', () => <NotFound />];
    return { title: name === 'adapters' || name === 'api' ? entry : title, body: page(entry) };
  }
  if (entry === undefined && Object.hasOwn(lists, name)) {
    const [title, page] = lists[name] ?? ['', () => <NotFound />];
    return { title, body: page() };
  }
  return { title: 'There is no such page', body: <NotFound /> };
}

function NotFound(): JSX.Element {
  return <Empty>The address names no page of the console.</Empty>;
}
