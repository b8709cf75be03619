import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * The address that a text names. Undefined for other text and with a zone id (RFC 4007 11). An IPv4-mapped address (RFC 4291 2.5.5.2)
 * stays as written. Only the strict grammar of `net.isIP` is accepted: ipaddr.js alone would also accept 0177.0.0.1 and 127.1.
 */
export function readAddress(text: string): Address | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text);
}

/** The form in which addresses are compared: IPv4-mapped becomes IPv4, because packets go there. */
export function canonicalAddress(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** The IPv4 addresses that an IPv6 address leads to through mapping or a transition mechanism. Empty for IPv4. */
export function embeddedIPv4(address: Address): readonly ipaddr.IPv4[] {
  if (address instanceof ipaddr.IPv4) return [];
  const found: ipaddr.IPv4[] = [];
  const [, second = 0, third = 0, fourth = 0, , , seventh = 0, eighth = 0] = address.parts;
  if (lowBitsCarry(address)) found.push(fromWords(seventh, eighth));
  if (liesIn(address, sixToFour)) found.push(fromWords(second, third));
  if (liesIn(address, teredo)) found.push(fromWords(third, fourth), fromWords(seventh ^ 0xffff, eighth ^ 0xffff));
  return found;
}

/** True for an interface identifier of ISATAP: 0000:5efe or 0200:5efe (RFC 5214 6.1). The group bit is ignored. */
export function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , fifth = 0, sixth = 0] = address.parts;
  return (fifth & 0xfcff) === 0 && sixth === 0x5efe;
}

/** A block of addresses: a network and the length of its prefix. */
export interface Block {
  readonly network: Address;
  readonly bits: number;
}

/** A block from CIDR notation. It throws on any other text, so it is for constants. */
export function block(cidr: string): Block {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  return { network, bits };
}

/** True where `address` is in the block and has its family. */
export function liesIn(address: Address, { network, bits }: Block): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/** True where the last 32 bits are an IPv4 address: mapped, compatible (RFC 4291 2.5.5), translated (RFC 2765), NAT64 (RFC 6052, RFC 8215), ISATAP. */
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
