import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';

const longestName = 253;
const longestLabel = 63;

/** The form in which names are compared: lower case, without the trailing dot of a fully qualified name (RFC 1034 3.1). */
export function comparableName(host: string): string {
  return (host.endsWith('.') ? host.slice(0, -1) : host).toLowerCase();
}

/** The name in its comparable ASCII form, or a problem as a sentence without its full stop. */
export function readHostName(text: string): { readonly name: string } | { readonly problem: string } {
  // Text with a character that ends a host is refused first: the parser must only make the ASCII form of the name.
  const host = /^[^/?#@\\:%]+$/u.test(text) ? (URL.parse(`http://${text}/`)?.hostname ?? '') : '';
  if (host === '') return { problem: `"${text}" is no host name or address` };
  if (isIP(host) !== 0) return { problem: `"${text}" would be read as the address ${host}; write it so` };
  const problem = hostNameProblem(host);
  return problem === undefined ? { name: comparableName(host) } : { problem: `"${text}" cannot be a host: ${problem}` };
}

/**
 * The problem of a host name in the ASCII form of the WHATWG parser; undefined where there is none. The parser is lenient on purpose, so this
 * function checks three more rules. DNS allows 63 octets a label and 253 a name (RFC 1035 2.3.4). Labels consist of letters, digits and
 * hyphens (RFC 1123 2.1), and of underscores, which real names have. A-labels are Punycode that decodes (RFC 5891 4.4).
 */
export function hostNameProblem(host: string): string | undefined {
  const name = comparableName(host);
  if (name === '') return 'its host name is empty';
  if (name.length > longestName) return `its host name has ${name.length} characters, and DNS allows ${longestName}`;
  for (const label of name.split('.')) {
    const problem = labelProblem(label);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function labelProblem(label: string): string | undefined {
  if (label === '') return 'its host name has an empty label (a dot too many)';
  if (label.length > longestLabel) {
    return `its host name has a label of ${label.length} characters in its ASCII form, and DNS allows ${longestLabel}`;
  }
  if (!/^[a-z0-9_-]+$/u.test(label)) {
    return `the label "${label}" of its host name holds something other than letters, digits, hyphens and underscores`;
  }
  if (label.startsWith('-') || label.endsWith('-')) return `the label "${label}" of its host name begins or ends with a hyphen`;
  // The parser does not check ASCII names. For an A-label that does not decode, domainToUnicode returns its input.
  if (label.startsWith('xn--') && domainToUnicode(label) === label) {
    return `the label "${label}" of its host name is no valid internationalised (IDNA) label`;
  }
  return undefined;
}
