import { readAddress } from '#outbound/policy/address.ts';
import { comparableName, readHostName } from '#outbound/policy/destination.ts';
import { readNetwork, readRule } from '#outbound/policy/destination-rule.ts';
import { label, plainText } from './scalar-shapes.ts';
import type { Shape } from './shape.ts';

export const hostRule: Shape<string> = label({
  type: 'outbound rule',
  example: '"*.lab.example.net"',
  atMost: 300,
  refuse: hostRuleFault,
});

function hostRuleFault(rule: string): string | undefined {
  // A URL may hold a password.
  if (/:\/\/|@/u.test(rule)) return 'is no host; write only the host, and its port after a colon';
  const read = readRule(rule);
  return 'problem' in read ? read.problem : undefined;
}

export const addressRange: Shape<string> = label({
  type: 'address or CIDR',
  example: '10.0.0.0/8',
  refuse(value) {
    const read = readNetwork(value);
    return 'problem' in read ? read.problem : undefined;
  },
});

/** In ASCII, without port or brackets. */
export const hostName: Shape<string> = label({
  type: 'host name or address',
  example: '127.0.0.1',
  refuse: (value) => (readAddress(value) === undefined ? hostNameFault(value) : undefined),
});

function hostNameFault(value: string): string | undefined {
  const read = readHostName(value);
  if ('problem' in read) return read.problem;
  return read.name === comparableName(value) ? undefined : `is not in ASCII; write ${read.name}`;
}

interface UrlOptions {
  readonly example: string;
  /** A fragment never is allowed. */
  readonly path: boolean;
  readonly query?: boolean;
}

/** Kept as written. It may hold a password: no message quotes it. */
export function httpUrl({ example, path, query = false }: UrlOptions): Shape<string> {
  const refuse = (value: string) => urlSyntaxFault(value, example) ?? urlPartsFault(value, { path, query });
  return plainText({ type: 'http or https URL', example, refuse });
}

function urlSyntaxFault(value: string, example: string): string | undefined {
  if (/[\s\\\p{C}]/u.test(value)) return 'holds white space, a backslash or an invisible character';
  if (!/^https?:\/\/[^/]/iu.test(value)) return `is no http or https URL; write e.g. ${example}`;
  const authority = value.split(/[/?#]/u)[2] ?? '';
  if (authority.includes('@')) return 'holds a user name or password; remove it and use the keys for credentials';
  return URL.canParse(value) ? undefined : `has no valid host or port; write e.g. ${example}`;
}

function urlPartsFault(value: string, { path, query }: Required<Omit<UrlOptions, 'example'>>): string | undefined {
  if (value.includes('#')) return 'has a fragment (#); remove it';
  if (!query && value.includes('?')) return 'has a query (?); remove it';
  if (!path && new URL(value).pathname !== '/') return 'has a path; write only scheme, host and port';
  const [beforeQuery = ''] = value.split('?', 1);
  return /\/(?:\.|%2e){1,2}(?=\/|$)/iu.test(beforeQuery) ? 'has "." or ".." segments; write the path without them' : undefined;
}
