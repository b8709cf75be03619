import type { Located } from '#yaml/located.ts';
import { functionNames } from '../workflow.ts';
import { policy } from './authentication.ts';
import type { Context } from './context.ts';
import { timeoutDefinition } from './durations.ts';
import { errorDefinition } from './flow-tasks.ts';
import { entriesOf, itemsOf, membersOf, textOf } from './members.ts';
import { type Scope, within } from './scope.ts';
import { retryPolicy } from './try-reader.ts';

const known = ['authentications', 'errors', 'functions', 'retries', 'secrets', 'timeouts'] as const;

const refused = {
  extensions: 'are not supported: they change tasks from elsewhere; write the tasks where they belong',
  catalogs: 'are not supported: the gateway takes no functions from elsewhere; define them in use.functions',
} as const;

/** Reads what no task uses, so that its problems show too. Everything else was read where a task uses it. */
export function readUse(context: Context, node: Located | undefined): void {
  if (node === undefined) return;
  const { reading, definitions } = context;
  const members = membersOf(reading, node, { wanted: 'an object', known, refused });
  for (const part of ['authentications', 'errors', 'functions', 'retries', 'timeouts'] as const)
    for (const { name, place } of entriesOf(reading, members.get(part), `an object of ${part}`))
      if (part === 'functions' && [...functionNames, 'grpc', 'asyncapi', 'a2a', 'mcp'].includes(name))
        reading.problem(place, 'is the name of a function that exists; choose another name');
  const seen = new Set<string>();
  for (const item of itemsOf(reading, members.get('secrets'), 'a list of names')) {
    const name = textOf(reading, item, 'the name of a secret');
    if (name !== undefined && seen.has(name)) reading.problem(item, 'is listed twice; keep one');
    if (name !== undefined) seen.add(name);
  }
  const functions = entriesOf(reading, members.get('functions'), 'an object of functions');
  for (const { name, value } of functions) context.body(name, value);
  const scope = anyScope(node);
  for (const value of definitions.unused('authentications')) policy(context, value, scope);
  for (const value of definitions.unused('errors')) errorDefinition(context, value, scope);
  for (const value of definitions.unused('retries')) retryPolicy(context, value, scope);
  for (const value of definitions.unused('timeouts')) timeoutDefinition(context, value, scope);
}

/** A definition that nothing uses may use any variable: the one that will hold an error is not known. */
function anyScope(node: Located): Scope {
  const mentioned = Array.from(node.json.matchAll(/\$((?!__)[A-Za-z_]\w*)/gu), ([, name = '']) => name);
  return within({ moment: 'task', own: [] }, mentioned);
}
