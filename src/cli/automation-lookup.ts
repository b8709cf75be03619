import { visible } from '#base/visible.ts';
import { type Automation, type Gateway, GatewayError } from '#client/gateway.ts';
import { nearest } from '#yaml/nearest.ts';
import { CommandFailed } from './gateway-session.ts';

type NamedAutomation = Pick<Automation, '_id' | 'name'>;

/**
 * The automation that a person named by its exact name or its `_id`; a name wins. Rejects with a CommandFailed that names the nearest
 * names where there is none.
 */
export async function findAutomation(gateway: Gateway, wanted: string): Promise<NamedAutomation> {
  const named = await withName(gateway, wanted);
  if (named !== 'may not list' && named !== undefined) return named;
  // The route takes no other text for an id.
  const withId = /^[\w.-]{1,128}$/u.test(wanted) ? await byId(gateway, wanted) : undefined;
  if (withId !== undefined) return withId;
  const shown = JSON.stringify(visible(wanted));
  if (named === 'may not list') {
    throw new CommandFailed(
      `no automation has the _id ${shown}. Your role may not list automations, so a name cannot be looked up`,
    );
  }
  throw new CommandFailed(`there is no automation ${shown} that you may see${await suggestions(gateway, wanted)}`);
}

async function withName(gateway: Gateway, name: string): Promise<NamedAutomation | 'may not list' | undefined> {
  try {
    // The filter ignores case and accents, so several may match.
    const { list } = (await gateway.listAutomations({ query: { equals: name, equalsField: 'name', limit: 100 } })).value;
    return list.find((automation) => automation.name === name);
  } catch (error) {
    if (error instanceof GatewayError && error.status === 403) return 'may not list';
    throw error;
  }
}

async function byId(gateway: Gateway, id: string): Promise<NamedAutomation | undefined> {
  try {
    return (await gateway.readAutomation({ path: { id } })).value;
  } catch (error) {
    if (error instanceof GatewayError && error.status === 404) return undefined;
    throw error;
  }
}

/** The end of a sentence: up to three names that are like the wanted one, or that contain it. */
async function suggestions(gateway: Gateway, wanted: string): Promise<string> {
  const { list, total } = (await gateway.listAutomations({ query: { limit: 1000 } })).value;
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
