import type { AdapterKind } from '#adapters/adapter-kind.ts';
import { beforeQuery, percentDecodings } from '#adapters/paths/path-readings.ts';
import { decidePath, otherInterface, type PathRights } from '#adapters/paths/path-rights.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import type { RuleDecision } from './relayed-call.ts';

/** Characters. */
const pathLimit = 8_192;

/** The path is sent unchanged: these checks only keep it within the adapter's address. */
export function pathProblem(path: string): string | undefined {
  if (path === '') return 'is empty; name a resource, such as restconf/data/tailf-ncs:devices';
  if (path.length > pathLimit) return `is longer than ${pathLimit} characters`;
  if (/[^\x21-\x7e]/u.test(path)) return 'has a character outside visible ASCII; percent-encode it';
  if (path.includes('\\')) return 'has a backslash; percent-encode it as %5C';
  if (path.includes('#')) return 'has a fragment; percent-encode a # as %23';
  if (path.includes('://') && /^[a-z][a-z0-9+.-]*:\/\//iu.test(path))
    return 'begins with a scheme; give the path alone, relative to the orchestrator';
  if (path.startsWith('//')) return 'begins with //; give the path alone, relative to the orchestrator';
  if (hasDotDotSegment(path)) return 'has a .. segment (in some encoding); give the resource itself';
  return undefined;
}

function hasDotDotSegment(path: string): boolean {
  const resource = beforeQuery(path);
  if (!resource.includes('%') && !resource.includes('..')) return false;
  // Old servers read overlong UTF-8 and %u escapes as dots, and ignore NUL.
  const plain = resource
    .replaceAll(/%(?:25)*(?:c0%(?:25)*ae|e0%(?:25)*80%(?:25)*ae|u002e)/giu, '.')
    .replaceAll(/%(?:25)*00/gu, '');
  // A server may strip `;parameters` before it resolves dots (RFC 3986 3.3).
  return percentDecodings(plain).some((reading) => reading.split(/[/\\]/u).some((segment) => segment.split(';', 1)[0] === '..'));
}

/** What path rights see of an adapter instance. */
export interface RightfulAdapter {
  readonly name: string;
  readonly kind: Pick<AdapterKind, 'name' | 'otherInterfaces'>;
  readonly settings: PathRights;
}

export function decideDestination(adapter: RightfulAdapter, method: OutboundCall['method'], path: string): RuleDecision {
  const operation = method === 'GET' ? 'queries' : 'actions';
  const { allowed, reason } = decidePath(adapter.settings, operation, path);
  if (!allowed) return denied(reason, `The adapter instance "${adapter.name}" does not allow this path: ${reason}.`);
  const { name: kind, otherInterfaces = [] } = adapter.kind;
  const door = otherInterface(otherInterfaces, adapter.settings.allowPaths[operation], path);
  if (door === undefined) return { allowed, rule: reason };
  const detail = `The path leads to ${door}, another interface of ${kind} than the one of the adapter instance "${adapter.name}", and no entry of allowPaths.${operation} names that segment.`;
  return denied(`${kind}: other interface`, detail);
}

function denied(rule: string, detail: string): RuleDecision {
  return { allowed: false, rule, refusal: new GatewayError('path-denied', `${detail} Ask its operator.`) };
}
