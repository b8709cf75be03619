import { type Automation, type Gateway, GatewayError } from '#client/gateway.ts';
import { nearest } from '#yaml/wording.ts';
import { CommandFailed } from '../gateway-session.ts';
import { ambiguous, quoted } from './ambiguous.ts';

type NamedAutomation = Pick<Automation, '_id' | 'name'>;

/**
 * The automation that a person named: by its exact name, else by its `_id`, else by its name in another case. Rejects with a CommandFailed
 * that names the nearest names where there is none, and all where there are several.
 */
export async function findAutomation(gateway: Gateway, wanted: string): Promise<NamedAutomation> {
  const alike = await withName(gateway, wanted);
  const named = alike === 'may not list' ? undefined : alike.find(({ name }) => name === wanted);
  if (named !== undefined) return named;
  // The route takes no other text for an id.
  const withId = /^[\w.-]{1,128}$/u.test(wanted) ? await byId(gateway, wanted) : undefined;
  if (withId !== undefined) return withId;
  if (alike === 'may not list')
    throw new CommandFailed(
      `no automation has the _id ${quoted(wanted)}. Your role may not list automations, so a name cannot be looked up`,
    );
  const [only, ...others] = alike;
  if (only === undefined)
    throw new CommandFailed(`there is no automation ${quoted(wanted)} that you may see${await suggestions(gateway, wanted)}`);
  if (others.length > 0)
    throw ambiguous(
      wanted,
      'automations',
      alike.map(({ name }) => quoted(name)),
    );
  return only;
}

/** The filter ignores case and accents. */
async function withName(gateway: Gateway, name: string): Promise<readonly NamedAutomation[] | 'may not list'> {
  try {
    return (await gateway.listAutomations({ query: { equals: name, equalsField: 'name', limit: 100 } })).value.list;
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
  if (found.length > 0) return `; did you mean ${found.map(quoted).join(' or ')}?`;
  return names.length > 5 ? '' : `; there are: ${names.map(quoted).join(', ')}`;
}
