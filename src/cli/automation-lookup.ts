import { visible } from '#base/visible.ts';
import { nearest } from '#yaml/nearest.ts';
import { CommandFailed, GatewayRefusal, type GatewaySession } from './gateway-session.ts';

interface NamedAutomation {
  readonly _id: string;
  readonly name: string;
}

const automations = '/automation_catalog/automations';

/**
 * The automation that a person named by its exact name or its `_id`; a name wins. Rejects with a CommandFailed that names the nearest
 * names where there is none.
 */
export async function findAutomation(session: GatewaySession, wanted: string): Promise<NamedAutomation> {
  const named = await withName(session, wanted);
  if (named !== 'may not list' && named !== undefined) return named;
  // The route takes no other text for an id.
  const withId = /^[\w.-]{1,128}$/u.test(wanted) ? await byId(session, wanted) : undefined;
  if (withId !== undefined) return withId;
  const shown = JSON.stringify(visible(wanted));
  if (named === 'may not list') {
    throw new CommandFailed(
      `no automation has the _id ${shown}. Your role may not list automations, so a name cannot be looked up`,
    );
  }
  throw new CommandFailed(`there is no automation ${shown} that you may see${await suggestions(session, wanted)}`);
}

async function withName(session: GatewaySession, name: string): Promise<NamedAutomation | 'may not list' | undefined> {
  try {
    // The filter ignores case and accents, so several may match.
    const { list } = await listed(session, { equals: name, equalsField: 'name', limit: '100' });
    return list.find((automation) => automation.name === name);
  } catch (error) {
    if (error instanceof GatewayRefusal && error.status === 403) return 'may not list';
    throw error;
  }
}

async function byId(session: GatewaySession, id: string): Promise<NamedAutomation | undefined> {
  try {
    return (await session.ask({ path: `${automations}/${encodeURIComponent(id)}` })) as NamedAutomation;
  } catch (error) {
    if (error instanceof GatewayRefusal && error.status === 404) return undefined;
    throw error;
  }
}

/** The end of a sentence: up to three names that are like the wanted one, or that contain it. */
async function suggestions(session: GatewaySession, wanted: string): Promise<string> {
  const { list, total } = await listed(session, { limit: '1000' });
  if (total === 0) return '; the catalogue has none';
  const names = list.map(({ name }) => name);
  const like = nearest(wanted, names);
  const lower = wanted.toLowerCase();
  const containing = names.filter((name) => name.toLowerCase().includes(lower));
  const found = [...new Set([...(like === undefined ? [] : [like]), ...containing])].slice(0, 3);
  const words = found.map((name) => JSON.stringify(visible(name))).join(' or ');
  if (found.length > 0) return `; did you mean ${words}?`;
  return names.length > 5 ? '' : `; there are: ${names.map((name) => JSON.stringify(visible(name))).join(', ')}`;
}

async function listed(
  session: GatewaySession,
  query: Readonly<Record<string, string>>,
): Promise<{ readonly list: readonly NamedAutomation[]; readonly total: number }> {
  const path = `${automations}?${new URLSearchParams(query).toString()}`;
  return (await session.ask({ path })) as { readonly list: readonly NamedAutomation[]; readonly total: number };
}
