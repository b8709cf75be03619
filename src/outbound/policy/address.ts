import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** By the strict grammar of `net.isIP`: ipaddr.js alone accepts 0177.0.0.1 and 127.1. Undefined with a zone id (RFC 4007 11). IPv4-mapped stays as written. */
export function readAddress(text: string): Address | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text);
}

/** For comparison: packets to IPv4-mapped addresses go to IPv4. */
export function canonicalAddress(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Where an IPv6 address leads through mapping or transition. Empty for IPv4. */
export function embeddedIPv4(address: Address): readonly ipaddr.IPv4[] {
  if (address instanceof ipaddr.IPv4) return [];
  const found: ipaddr.IPv4[] = [];
  const [, second = 0, third = 0, fourth = 0, , , seventh = 0, eighth = 0] = address.parts;
  if (lowBitsCarry(address)) found.push(fromWords(seventh, eighth));
  if (liesIn(address, sixToFour)) found.push(fromWords(second, third));
  if (liesIn(address, teredo)) found.push(fromWords(third, fourth), fromWords(seventh ^ 0xffff, eighth ^ 0xffff));
  return found;
}

/** 0000:5efe or 0200:5efe (RFC 5214 6.1), without the group bit. */
export function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , fifth = 0, sixth = 0] = address.parts;
  return (fifth & 0xfcff) === 0 && sixth === 0x5efe;
}

export interface Block {
  readonly network: Address;
  readonly bits: number;
}

/** Throws for other text than CIDR: for constants. */
export function block(cidr: string): Block {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  return { network, bits };
}

export function liesIn(address: Address, { network, bits }: Block): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** Mapped, compatible (RFC 4291 2.5.5), translated (RFC 2765), NAT64 (RFC 6052, RFC 8215), ISATAP. */
function lowBitsCarry(address: ipaddr.IPv6): boolean {
  return lowBitsBlocks.some((candidate) => liesIn(address, candidate)) || isIsatap(address);
}

const lowBitsBlocks: readonly Block[] = ['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48'].map(
  block,
);
const sixToFour = block('2002::/16');
const teredo = block('2001::/32');

function fromWords(high: number, low: number): ipaddr.IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}
