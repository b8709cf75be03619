import type { Approval } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { menu } from '../pages.tsx';
import type { IconName } from '../parts/icon.tsx';
import { gateway, may } from '../session.ts';

/** A page or a thing that the palette found. */
export interface Finding {
  readonly title: string;
  /** `Page`, `Automation`. */
  readonly kind: string;
  readonly icon: IconName;
  readonly href: string;
}

/** Pages whose title has the text. */
export function findPages(text: string): readonly Finding[] {
  const wanted = text.trim().toLowerCase();
  const pages = menu().map(({ name, title, icon }): Finding => {
    return { title, kind: 'Page', icon, href: hrefOf(name === '' ? [] : [name]) };
  });
  const makers: readonly Finding[] = [
    ...(may('createAutomation')
      ? [{ title: 'New automation', kind: 'Page', icon: 'add', href: hrefOf(['automations', 'new']) } as const]
      : []),
    ...(may('createWorkflow')
      ? [{ title: 'New workflow', kind: 'Page', icon: 'add', href: hrefOf(['workflows', 'new']) } as const]
      : []),
  ];
  return [...pages, ...makers].filter(({ title }) => title.toLowerCase().includes(wanted));
}

/** Of each kind. */
const most = 6;

type Search = (text: string, signal: AbortSignal) => Promise<readonly Finding[]>;

/** Things with the text in their name, or with that id. What the caller may not ask for, or what fails, is left out. */
export async function findThings(text: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const found = await Promise.all(searches().map((search) => search(text, signal).catch(() => [])));
  return found.flat();
}

function searches(): readonly Search[] {
  return [
    ...(may('listAutomations') ? [automations] : []),
    ...(may('listWorkflows') ? [workflows] : []),
    ...(may('readRun') ? [run] : []),
    ...(may('listAdapters') ? [adapters] : []),
    ...(may('listApprovals') ? [approvals] : []),
  ];
}

const automations: Search = async (contains, signal) => {
  const { list } = (await gateway.listAutomations({ query: { contains, limit: most }, signal })).value;
  return list.map(({ _id, name }) => {
    return { title: name, kind: 'Automation', icon: 'automations', href: hrefOf(['automations', _id]) };
  });
};

const workflows: Search = async (contains, signal) => {
  const { list } = (await gateway.listWorkflows({ query: { contains, limit: most }, signal })).value;
  return list.map(({ id, title }): Finding => {
    return { title: title ?? id, kind: `Workflow ${id}`, icon: 'workflows', href: hrefOf(['workflows', id]) };
  });
};

/** An id, whole: runs have no other name. */
const whole = /^[\w-]{20,}$/u;

const run: Search = async (id, signal) => {
  if (!whole.test(id)) return [];
  const { workflow, status } = (await gateway.readRun({ path: { id }, signal })).value;
  return [{ title: `${workflow}, ${status}`, kind: 'Run', icon: 'runs', href: hrefOf(['runs', id]) }];
};

const adapters: Search = async (text, signal) => {
  const { list } = (await gateway.listAdapters({ signal })).value;
  return list
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .slice(0, most)
    .map(({ name }): Finding => ({ title: name, kind: 'Adapter', icon: 'adapters', href: hrefOf(['adapters', name]) }));
};

const approvals: Search = async (text, signal) => {
  const { list } = (await gateway.listApprovals({ query: { limit: 100 }, signal })).value;
  const wanted = text.toLowerCase();
  return list
    .map(approvalFinding)
    .filter(({ title, href }) => `${title} ${href}`.toLowerCase().includes(wanted))
    .slice(0, most);
};

function approvalFinding({ id, call, message, automation, workflow, status }: Approval): Finding {
  const title = call === undefined ? (message ?? automation ?? workflow ?? id) : `${call.method} ${call.path}`;
  return { title, kind: `Approval, ${status}`, icon: 'approvals', href: hrefOf(['approvals', id]) };
}
