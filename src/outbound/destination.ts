import { isIP } from 'node:net';
import { hostNameProblem } from './host-name.ts';

const longestUri = 8_192;

/** Characters that a URI must not contain. The WHATWG parser strips, maps or ignores them, so that two readers may see two hosts. */
const unwanted: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\\/u, what: 'a backslash' },
  { pattern: /\p{White_Space}/u, what: 'white space' },
  { pattern: /\p{Cc}/u, what: 'a control character' },
  { pattern: /\p{Cf}/u, what: 'an invisible (format) character' },
  { pattern: /\p{Cs}/u, what: 'half of a surrogate pair' },
];

/** A URI without any of those characters, as most are. */
const visibleAscii = /^[\x21-\x5b\x5d-\x7e]*$/u;

/**
 * Reads the URI of a restCall with the WHATWG URL parser and removes its fragment. It must be absolute http or https and have 1 to 8,192
 * characters, none of them invisible. Userinfo is refused, labels must be valid, and the port is 1 to 65535. A problem is the predicate of a
 * sentence about the URI. It quotes at most one label of the host, because a URI may carry secrets.
 */
export function readDestination(uri: string): { readonly url: URL } | { readonly problem: string } {
  const problem = textProblem(uri) ?? authorityProblem(uri);
  if (problem !== undefined) return { problem };
  const url = URL.parse(uri);
  if (url === null) return { problem: 'is no valid URL: its host or its port cannot be read' };
  const unusable = urlProblem(url);
  if (unusable !== undefined) return { problem: unusable };
  url.hash = '';
  return { url };
}

function textProblem(uri: string): string | undefined {
  if (uri === '') return 'is empty';
  if (longerThan(uri, longestUri)) return `is longer than ${longestUri} characters`;
  if (visibleAscii.test(uri)) return undefined;
  for (const { pattern, what } of unwanted) {
    const found = pattern.exec(uri);
    if (found !== null)
      return `holds ${what} (${codePoint(found[0])}) at character ${Array.from(uri.slice(0, found.index)).length + 1}; percent-encode what belongs there`;
  }
  return undefined;
}

/** Checks the part between `//` and the path, before the parser repairs it. */
function authorityProblem(uri: string): string | undefined {
  // RFC 9110 4.2.1: an http URI with an empty host is invalid. The WHATWG parser would accept any number of slashes, also none.
  const authority = /^https?:\/\/([^/?#]+)/iu.exec(uri)?.[1];
  if (authority === undefined) return 'is no absolute http or https URI; it must begin with http://HOST or https://HOST';
  if (authority.includes('@'))
    return 'holds user information ("@" before the host); give user and password outside the URI instead';
  if (visibleAscii.test(authority) && !authority.includes('%')) return undefined;
  // UTS 46 maps these to nothing, so that the text looks like another name. Percent-encoding hides them from the test above.
  const hidden = /[\p{Cf}\p{Cc}\p{White_Space}\p{Default_Ignorable_Code_Point}]/u.exec(percentDecoded(authority));
  if (hidden !== null) return `has a host with an invisible character (${codePoint(hidden[0])})`;
  return undefined;
}

function urlProblem(url: URL): string | undefined {
  if (url.port === '0') return 'has port 0; ports are 1 to 65535';
  const host = url.hostname;
  const problem = host.startsWith('[') || isIP(host) !== 0 ? undefined : hostNameProblem(host);
  return problem === undefined ? undefined : `names no host that can be looked up: ${problem}`;
}

/** Decodes a host as the parser does: bytes that are not UTF-8 become U+FFFD, which the parser refuses afterwards. */
function percentDecoded(authority: string): string {
  if (!authority.includes('%')) return authority;
  return authority.replaceAll(/(?:%[0-9a-f]{2})+/giu, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
}

/** Counts code points, as JSON Schema does. A text that is far too long is not copied for that. */
function longerThan(text: string, limit: number): boolean {
  return text.length > limit && (text.length > 2 * limit || Array.from(text).length > limit);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
