import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, type Block, canonicalAddress, liesIn, readAddress } from './address.ts';
import { comparableName, readHostName } from './destination.ts';

/** `port` undefined: any. */
export interface DestinationRule {
  readonly text: string;
  readonly port: number | undefined;
  readonly target: RuleTarget;
}

type RuleTarget =
  | { readonly kind: 'name'; readonly name: string }
  /** `.example.net` for `*.example.net`. */
  | { readonly kind: 'suffix'; readonly suffix: string }
  | ({ readonly kind: 'network' } & Block);

type Read<Name extends string, Value> = { readonly [name in Name]: Value } | { readonly problem: string };

/** Host name, `*.suffix`, address or CIDR, with an optional `:port`; IPv6 with a port in brackets. Refuses a CIDR with host bits, which may mean network or address. */
export function readRule(text: string): Read<'rule', DestinationRule> {
  const split = splitPort(text);
  if ('problem' in split) return split;
  const { host, port } = split.parts;
  const read = readTarget(host);
  return 'problem' in read ? read : { rule: { text, port, target: read.target } };
}

/** Without case and trailing dot. */
export function ruleNames(rule: DestinationRule, name: string, port: number): boolean {
  if (!speaksOfPort(rule, port)) return false;
  if (rule.target.kind === 'name') return rule.target.name === comparableName(name);
  return rule.target.kind === 'suffix' && comparableName(name).endsWith(rule.target.suffix);
}

/** `address` in canonical form. */
export function ruleCovers(rule: DestinationRule, address: Address, port: number): boolean {
  return rule.target.kind === 'network' && speaksOfPort(rule, port) && liesIn(address, rule.target);
}

export function ruleIsExactly(rule: DestinationRule, address: Address, port: number): boolean {
  if (rule.target.kind !== 'network' || rule.port === undefined) return false;
  return rule.target.bits === wholeLength(rule.target.network) && ruleCovers(rule, address, port);
}

function speaksOfPort(rule: DestinationRule, port: number): boolean {
  return rule.port === undefined || rule.port === port;
}

function splitPort(text: string): Read<'parts', { readonly host: string; readonly port: number | undefined }> {
  if (/[\s\p{C}]/u.test(text))
    return { problem: `"${text.replaceAll(/\p{C}/gu, '?')}" holds white space or an invisible character` };
  if (text.includes('//')) return { problem: `"${text}" is a URL; a rule is the host alone, with an optional :port` };
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/u.exec(text);
  if (bracketed !== null) {
    const [, host = '', port] = bracketed;
    return host.includes(':') ? withPort(text, host, port) : { problem: `"${text}": brackets are for IPv6 addresses` };
  }
  const [host = '', port, ...more] = text.split(':');
  return more.length > 0 ? withPort(text, text, undefined) : withPort(text, host, port);
}

function withPort(text: string, host: string, port: string | undefined): ReturnType<typeof splitPort> {
  if (port === undefined) return { parts: { host, port: undefined } };
  const number = /^[0-9]{1,5}$/u.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535) return { problem: `"${text}": the port must be a number from 1 to 65535` };
  return { parts: { host, port: number } };
}

function readTarget(host: string): Read<'target', RuleTarget> {
  if (host.includes('/') || host.includes(':') || isIP(host) !== 0) return readNetwork(host);
  if (!host.startsWith('*')) return readName(host, (name) => ({ kind: 'name', name }));
  if (!host.startsWith('*.'))
    return {
      problem: `"${host}": a wildcard is the whole first label, as in *.example.net; every address is 0.0.0.0/0 and ::/0`,
    };
  return readName(host.slice(2), (name) => ({ kind: 'suffix', suffix: `.${name}` }));
}

function readName(text: string, target: (name: string) => RuleTarget): Read<'target', RuleTarget> {
  const read = readHostName(text);
  return 'problem' in read ? read : { target: target(read.name) };
}

export function readNetwork(text: string): Read<'target', RuleTarget> {
  const [base = '', length, ...more] = text.split('/');
  const address = readAddress(base);
  if (address === undefined || more.length > 0) return { problem: `"${text}" is no address or CIDR (zone ids are not possible)` };
  const whole = wholeLength(address);
  const bits = length === undefined ? whole : /^[0-9]{1,3}$/u.test(length) ? Number(length) : Number.NaN;
  if (!(bits <= whole)) return { problem: `"${text}": the prefix length must be a number from 0 to ${whole}` };
  const network = networkOf(address, bits);
  if (network.toString() !== address.toString()) {
    return {
      problem: `"${text}" has host bits set; write ${network.toString()}/${bits} for the network, or ${address.toString()} for the address`,
    };
  }
  return { target: { kind: 'network', ...canonicalNetwork(network, bits) } };
}

function networkOf(address: Address, bits: number): Address {
  const bytes = address
    .toByteArray()
    .map((byte, index) => byte & (0xff << Math.max(0, 8 - Math.max(0, bits - index * 8))) & 0xff);
  return ipaddr.fromByteArray(bytes);
}

/** As addresses are compared: a network of mapped addresses becomes the IPv4 network. */
function canonicalNetwork(network: Address, bits: number): Block {
  const canonical = bits >= 96 ? canonicalAddress(network) : network;
  return { network: canonical, bits: canonical.kind() === network.kind() ? bits : bits - 96 };
}

function wholeLength(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}
