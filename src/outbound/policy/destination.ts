import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';

const maxUriLength = 8_192;

/** The WHATWG parser strips, maps or ignores them, so that two readers may see two hosts. */
const unwanted: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\\/u, what: 'a backslash' },
  { pattern: /\p{White_Space}/u, what: 'white space' },
  { pattern: /\p{Cc}/u, what: 'a control character' },
  { pattern: /\p{Cf}/u, what: 'an invisible (format) character' },
  { pattern: /\p{Cs}/u, what: 'half of a surrogate pair' },
];

/** Most URIs match. */
const visibleAscii = /^[\x21-\x5b\x5d-\x7e]*$/u;

/** By the WHATWG parser, without fragment: absolute http(s), 1 to 8,192 characters, no userinfo, valid labels, port 1 to 65535. A problem is a predicate, and quotes at most one label, because a URI may carry secrets. */
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
  if (longerThan(uri, maxUriLength)) return `is longer than ${maxUriLength} characters`;
  if (visibleAscii.test(uri)) return undefined;
  for (const { pattern, what } of unwanted) {
    const found = pattern.exec(uri);
    if (found !== null)
      return `holds ${what} (${codePoint(found[0])}) at character ${Array.from(uri.slice(0, found.index)).length + 1}; percent-encode what belongs there`;
  }
  return undefined;
}

/** Before the parser repairs it. */
function authorityProblem(uri: string): string | undefined {
  // An empty host is invalid (RFC 9110 4.2.1); the parser accepts any number of slashes.
  const authority = /^https?:\/\/([^/?#]+)/iu.exec(uri)?.[1];
  if (authority === undefined) return 'is no absolute http or https URI; it must begin with http://HOST or https://HOST';
  if (authority.includes('@'))
    return 'holds user information ("@" before the host); give user and password outside the URI instead';
  if (visibleAscii.test(authority) && !authority.includes('%')) return undefined;
  // UTS 46 maps these to nothing, also percent-encoded: the text would look like another name.
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

/** As the parser does, which refuses the U+FFFD of invalid bytes. */
function percentDecoded(authority: string): string {
  if (!authority.includes('%')) return authority;
  return authority.replaceAll(/(?:%[0-9a-f]{2})+/giu, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'));
}

/** In code points, as JSON Schema does. Does not copy a far too long text. */
function longerThan(text: string, limit: number): boolean {
  return text.length > limit && (text.length > 2 * limit || Array.from(text).length > limit);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

const maxNameLength = 253;
const maxLabelLength = 63;

/** Lower case, without the trailing dot (RFC 1034 3.1). */
export function comparableName(host: string): string {
  return (host.endsWith('.') ? host.slice(0, -1) : host).toLowerCase();
}

/** Comparable ASCII, or a problem without its full stop. */
export function readHostName(text: string): { readonly name: string } | { readonly problem: string } {
  // The parser must only make the ASCII form.
  const host = /^[^/?#@\\:%]+$/u.test(text) ? (URL.parse(`http://${text}/`)?.hostname ?? '') : '';
  if (host === '') return { problem: `"${text}" is no host name or address` };
  if (isIP(host) !== 0) return { problem: `"${text}" would be read as the address ${host}; write it so` };
  const problem = hostNameProblem(host);
  return problem === undefined ? { name: comparableName(host) } : { problem: `"${text}" cannot be a host: ${problem}` };
}

/**
 * The parser is lenient. Checks 63 octets a label and 253 a name (RFC 1035 2.3.4), and decodable A-labels (RFC 5891 4.4).
 * Labels have letters, digits, hyphens (RFC 1123 2.1) and underscores.
 */
function hostNameProblem(host: string): string | undefined {
  const name = comparableName(host);
  if (name === '') return 'its host name is empty';
  if (name.length > maxNameLength) return `its host name has ${name.length} characters, and DNS allows ${maxNameLength}`;
  for (const label of name.split('.')) {
    const problem = labelProblem(label);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function labelProblem(label: string): string | undefined {
  if (label === '') return 'its host name has an empty label (a dot too many)';
  if (label.length > maxLabelLength) {
    return `its host name has a label of ${label.length} characters in its ASCII form, and DNS allows ${maxLabelLength}`;
  }
  if (!/^[a-z0-9_-]+$/u.test(label)) {
    return `the label "${label}" of its host name holds something other than letters, digits, hyphens and underscores`;
  }
  if (label.startsWith('-') || label.endsWith('-')) return `the label "${label}" of its host name begins or ends with a hyphen`;
  // The parser does not check ASCII names. domainToUnicode returns an undecodable A-label unchanged.
  if (label.startsWith('xn--') && domainToUnicode(label) === label) {
    return `the label "${label}" of its host name is no valid internationalised (IDNA) label`;
  }
  return undefined;
}
