import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { readRule } from '#outbound/destination-rule.ts';
import { label, type Parsed, text } from './scalar-shapes.ts';
import type { Shape } from './shape.ts';
import { shown } from './wording.ts';

/** `10.0.0.1` or `fd00::1`: four decimal parts without leading zeros, or IPv6 without a zone id. */
function isAddress(value: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(value) || (!value.includes('%') && ipaddr.IPv6.isValid(value));
}

/** A fault where `value` is neither address nor CIDR. A CIDR with host bits set is refused: nobody can tell what was meant. */
function addressFault(value: string): string | undefined {
  const [address = '', prefix, ...more] = value.split('/');
  if (!isAddress(address) || more.length > 0) return `${shown(value)} is no address or CIDR; write e.g. 10.0.0.0/8 or fd00::/8`;
  if (prefix === undefined) return undefined;
  const family = address.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
  if (!/^(0|[1-9]\d{0,2})$/u.test(prefix) || !family.isValidCIDR(value))
    return `${shown(value)} has a prefix length out of range`;
  const network = `${family.networkAddressFromCIDR(value).toString()}/${prefix}`;
  const isNetwork = ipaddr.parse(address).toString() === ipaddr.parse(network.split('/')[0] ?? '').toString();
  return isNetwork ? undefined : `${shown(value)} has bits set beyond its prefix; write ${network}`;
}

/** A fault where `value` is no host name that DNS or a hosts file could know. */
function hostNameFault(value: string): string | undefined {
  if (!/^[\x21-\x7e]+$/u.test(value)) {
    const ascii = domainToASCII(value);
    return `${shown(value)} is no host name in ASCII${ascii === '' ? '' : `; write ${ascii}`}`;
  }
  const labels = value.replace(/\.$/u, '').split('.');
  const isName = value.length <= 253 && labels.every((part) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/iu.test(part));
  // URL parsers take a last label of digits or 0x… for an IPv4 address, so no host has such a name.
  const isNumeric = /^(?:\d+|0x[0-9a-f]*)$/iu.test(labels.at(-1) ?? '');
  return isName && !isNumeric ? undefined : `${shown(value)} is neither a host name nor an address`;
}

/** One entry of `outbound.allow` or `outbound.deny`, by the grammar that the policy itself reads. */
export const hostRule: Shape<string> = label({
  type: 'outbound rule',
  example: '"*.lab.example.net"',
  atMost: 300,
  refuse: hostRuleFault,
});

function hostRuleFault(rule: string): string | undefined {
  // Unquoted: such a text may hold a password.
  if (/:\/\/|@/u.test(rule)) return 'is no host; write the host alone, and its port after a colon';
  const read = readRule(rule);
  return 'problem' in read ? read.problem : undefined;
}

/** An address or a CIDR. */
export const addressRange: Shape<string> = label({
  type: 'address or CIDR',
  example: '10.0.0.0/8',
  refuse: addressFault,
});

/** An address or host name without port or brackets, to listen on or to verify a certificate against. */
export const hostName: Shape<string> = label({
  type: 'host name or address',
  example: '127.0.0.1',
  refuse: (value) => (isAddress(value) ? undefined : hostNameFault(value)),
});

interface UrlOptions {
  readonly example: string;
  /** May it have a path, may it have a query? A fragment never. */
  readonly path: boolean;
  readonly query?: boolean;
}

/** An absolute http or https URL, kept as written. Faults never quote it: it may hold a password in the wrong place. */
export function httpUrl({ example, path, query = false }: UrlOptions): Shape<string> {
  return text({ type: 'http or https URL', example, parse: (value) => parseHttpUrl(value, { example, path, query }) });
}

function parseHttpUrl(value: string, options: UrlOptions): Parsed<string> {
  const fault = urlSyntaxFault(value, options.example) ?? urlPartsFault(value, options);
  return fault === undefined ? { value } : { fault };
}

function urlSyntaxFault(value: string, example: string): string | undefined {
  if (/[\s\\\p{C}]/u.test(value)) return 'holds white space, a backslash or an invisible character';
  if (!/^https?:\/\/[^/]/iu.test(value)) return `is no http or https URL; write e.g. ${example}`;
  const authority = value.split(/[/?#]/u)[2] ?? '';
  if (authority.includes('@')) return 'holds a user name or password; take it out and use the keys made for it';
  return URL.canParse(value) ? undefined : `has no valid host or port; write e.g. ${example}`;
}

function urlPartsFault(value: string, { path, query }: UrlOptions): string | undefined {
  if (value.includes('#')) return 'has a fragment (#); remove it';
  if (query !== true && value.includes('?')) return 'has a query (?); remove it';
  if (!path && new URL(value).pathname !== '/') return 'has a path; write scheme, host and port alone';
  return /\/(?:\.|%2e){1,2}(?=\/|$)/iu.test(value) ? 'has "." or ".." segments; write the path out' : undefined;
}
