import { beforeQuery, percentDecodings } from '#adapters/path-readings.ts';

/** Longest `params.path`, in characters. */
const pathLimit = 8_192;

/**
 * The problem of a `params.path`, or undefined where it can be sent. The path is sent unchanged, never decoded or normalised; the checks
 * only make sure that it cannot leave the adapter's address.
 */
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
  // Old servers also read overlong UTF-8 and %u escapes as a dot, and ignore a NUL.
  const plain = resource
    .replaceAll(/%(?:25)*(?:c0%(?:25)*ae|e0%(?:25)*80%(?:25)*ae|u002e)/giu, '.')
    .replaceAll(/%(?:25)*00/gu, '');
  // A server may strip `;parameters` from a segment before it resolves dots (RFC 3986 3.3).
  return percentDecodings(plain).some((reading) => reading.split(/[/\\]/u).some((segment) => segment.split(';', 1)[0] === '..'));
}
