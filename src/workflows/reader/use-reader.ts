import type { Located } from '#yaml/located.ts';
import { functionNames } from '../workflow.ts';
import { policy } from './authentication.ts';
import type { Context } from './context.ts';
import { timeoutDefinition } from './durations.ts';
import { errorDefinition } from './flow-tasks.ts';
import { listItems, membersOf, namedEntries, readText } from './members.ts';
import { type Scope, within } from './scope.ts';
import { retryPolicy } from './try-reader.ts';

const known = ['authentications', 'errors', 'functions', 'retries', 'secrets', 'timeouts'] as const;

const refused = {
  extensions: 'are not supported: they change tasks from elsewhere; write the tasks where they belong',
  catalogs: 'are not supported: the gateway takes no functions from elsewhere; define them in use.functions',
} as const;

const builtIn: readonly string[] = [...functionNames, 'grpc', 'asyncapi', 'a2a', 'mcp'];

/** Reads what no task uses, so that its problems show too. Everything else was read where a task uses it. */
export function readUse(context: Context, node: Located | undefined): void {
  if (node === undefined) return;
  const { reading, definitions } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known, refused });
  for (const part of ['authentications', 'errors', 'retries', 'timeouts'] as const)
    namedEntries(reading, members.get(part), `an object of ${part}`);
  for (const { name, place, value } of namedEntries(reading, members.get('functions'), 'an object of functions')) {
    if (builtIn.includes(name)) reading.problem(place, 'is the name of a function that exists; choose another name');
    context.body(name, value);
  }
  readSecrets(context, members.get('secrets'));
  const scope = anyScope(node);
  for (const value of definitions.unused('authentications')) policy(context, value, scope);
  for (const value of definitions.unused('errors')) errorDefinition(context, value, scope);
  for (const value of definitions.unused('retries')) retryPolicy(context, value, scope);
  for (const value of definitions.unused('timeouts')) timeoutDefinition(context, value, scope);
}

function readSecrets({ reading }: Context, node: Located | undefined): void {
  const seen = new Set<string>();
  for (const item of listItems(reading, node, 'a list of names')) {
    const name = readText(reading, item, 'the name of a secret');
    if (name === undefined) continue;
    if (seen.has(name)) reading.problem(item, 'is listed twice; keep one');
    seen.add(name);
  }
}

/** A definition that nothing uses may use any variable: the one that will hold an error is not known. */
function anyScope(node: Located): Scope {
  const mentioned = Array.from(node.json.matchAll(/\$((?!__)[A-Za-z_]\w*)/gu), ([, name = '']) => name);
  return within({ moment: 'task', own: [] }, mentioned);
}
