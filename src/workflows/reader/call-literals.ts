import type { Located } from '#yaml/located.ts';
import type { CallLiterals } from '../workflow.ts';
import type { Context } from './context.ts';
import { expressionIn } from './jq-source.ts';
import type { Scope } from './scope.ts';

/** What rights to a call are judged by, of the arguments of any function. An expression is left out: only a run knows its value. */
export function literalsOf(context: Context, given: Located | undefined, scope: Scope): CallLiterals {
  const params = memberOf(given, 'params');
  const literal = (node: Located | undefined): string | undefined => literalText(context, node, scope);
  const adapter = literal(memberOf(given, 'adapter'));
  const method = literal(memberOf(given, 'verb') ?? memberOf(given, 'method') ?? memberOf(params, 'method'));
  const path = literal(memberOf(given, 'uri') ?? memberOf(params, 'path')) ?? literalAddress(memberOf(given, 'endpoint'));
  return {
    ...(adapter !== undefined && { adapter }),
    ...(method !== undefined && { method: method.toUpperCase() }),
    ...(path !== undefined && { path }),
    ...(isTrue(memberOf(given, 'repeatable')) && { repeatable: true }),
  };
}

function memberOf(node: Located | undefined, name: string): Located | undefined {
  return node?.kind === 'object' ? node.members.find((member) => member.name === name)?.value : undefined;
}

function isTrue(node: Located | undefined): boolean {
  return node?.kind === 'boolean' && node.value;
}

/** As `template` reads a text. */
function literalText(context: Context, node: Located | undefined, scope: Scope): string | undefined {
  if (node?.kind !== 'string' || typeof expressionIn(node.value) === 'object') return undefined;
  return context.loose?.(node.value, scope) === true ? undefined : node.value;
}

/** An endpoint: an address without `{name}`, or an object with one. */
function literalAddress(node: Located | undefined): string | undefined {
  const address = node?.kind === 'object' ? memberOf(node, 'uri') : node;
  return address?.kind === 'string' && !/[{}]/u.test(address.value) ? address.value : undefined;
}
