import ipaddr from 'ipaddr.js';
import { type Address, block, isIsatap, liesIn, readAddress } from './address.ts';

/** `reason`: a noun phrase with the document that reserves the block. */
interface AddressClass {
  readonly public: boolean;
  readonly reason: string;
}

/** Public is global unicast, without IANA's special-purpose blocks (even globally reachable ones), multicast, IPv6 outside 2000::/3, and IPv6 that embeds IPv4. */
export function classifyAddress(text: string): AddressClass {
  const address = readAddress(text);
  if (address === undefined)
    return { public: false, reason: 'not a plain IP address (text that is none, or one with a zone id)' };
  const reason = rangeReason(address) ?? furtherReason(address);
  return reason === undefined ? { public: true, reason: 'a public address' } : { public: false, reason };
}

function rangeReason(address: Address): string | undefined {
  const range = address.range();
  return range === 'unicast' ? undefined : (rangeReasons.get(range) ?? `an address of a special range (${range})`);
}

/** For addresses that ipaddr.js calls unicast. */
function furtherReason(address: Address): string | undefined {
  if (address instanceof ipaddr.IPv4) {
    // Azure's WireServer: a public number that the hypervisor answers, with credentials.
    return liesIn(address, wireServer) ? "the address of Azure's platform services (168.63.129.16)" : undefined;
  }
  if (liesIn(address, ipv4Compatible)) return 'an IPv4-compatible IPv6 address (RFC 4291 2.5.5.1)';
  if (!liesIn(address, globalUnicast)) return 'an IPv6 address outside the global unicast space 2000::/3';
  return isIsatap(address) ? 'an ISATAP address, which embeds an IPv4 address (RFC 5214)' : undefined;
}

const wireServer = block('168.63.129.16/32');
const ipv4Compatible = block('::/96');
const globalUnicast = block('2000::/3');

/** Names of ipaddr.js 2.5; tests compare its tables with IANA's. */
const rangeReasons: ReadonlyMap<string, string> = new Map([
  ['unspecified', 'an unspecified or "this network" address (RFC 1122, RFC 4291)'],
  ['broadcast', 'the limited broadcast address (RFC 919)'],
  ['multicast', 'a multicast address (RFC 5771, RFC 4291)'],
  ['linkLocal', 'a link-local address (RFC 3927, RFC 4291), where cloud metadata is served'],
  ['loopback', 'a loopback address (RFC 1122, RFC 4291)'],
  ['carrierGradeNat', 'a shared address of carrier-grade NAT (RFC 6598)'],
  ['private', 'a private address (RFC 1918)'],
  ['reserved', 'an address reserved by IANA (special-purpose registry)'],
  ['as112', 'an address of the AS112 service (RFC 7534, RFC 7535)'],
  ['as112v6', 'an address of the AS112 service (RFC 7534, RFC 7535)'],
  ['amt', 'an address of automatic multicast tunnelling (RFC 7450)'],
  ['uniqueLocal', 'a unique local address (RFC 4193)'],
  ['ipv4Mapped', 'an IPv4-mapped IPv6 address (RFC 4291 2.5.5.2)'],
  ['deprecatedSiteLocal', 'a site-local address (RFC 3879)'],
  ['discard', 'an address of the discard prefix (RFC 6666)'],
  ['rfc6145', 'an IPv4-translated IPv6 address (RFC 6145)'],
  ['rfc6052', 'a NAT64 address, which embeds an IPv4 address (RFC 6052, RFC 8215)'],
  ['6to4', 'a 6to4 address, which embeds an IPv4 address (RFC 3056)'],
  ['teredo', 'a Teredo address, which embeds IPv4 addresses (RFC 4380)'],
  ['benchmarking', 'a benchmarking address (RFC 5180)'],
  ['deprecatedOrchid', 'an ORCHID, no address to route to (RFC 4843)'],
  ['orchid2', 'an ORCHIDv2, no address to route to (RFC 7343)'],
  ['droneRemoteIdProtocolEntityTags', 'a drone remote id, no address to route to (RFC 9374)'],
  ['segmentRouting', 'a segment routing identifier (RFC 9602)'],
]);
