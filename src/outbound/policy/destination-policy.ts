import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { GatewayError } from '#base/gateway-error.ts';
import { type Address, block, canonicalAddress, embeddedIPv4, liesIn, readAddress } from './address.ts';
import { classifyAddress } from './address-class.ts';
import { comparableName } from './destination.ts';
import { type DestinationRule, readRule, ruleCovers, ruleIsExactly, ruleNames } from './destination-rule.ts';

/** `deniedError` makes its error. */
export interface DestinationDecision {
  readonly allowed: boolean;
  /** Completes the destination: "is a private address (RFC 1918)". */
  readonly reason: string;
  readonly host: string;
  readonly port: number;
  /** Absent where the name alone decided. */
  readonly address?: string;
  /** The entry of `allow` or `deny` that decided. */
  readonly rule?: string;
  /** The entry of `allow` that would admit the destination. */
  readonly admit?: string | undefined;
}

/** For restCall. Hosts as in a URL's `hostname`, without brackets. */
export interface DestinationPolicy {
  /** Before any look-up. Leaves literal addresses to `decideAddress`. */
  decideName(host: string, port: number): DestinationDecision;
  /** The literal itself, or a result of its look-up. */
  decideAddress(destination: { readonly host: string; readonly address: string; readonly port: number }): DestinationDecision;
}

interface PolicyOptions {
  /** As `readRule` reads them; throws for an invalid one. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Port 0 gets its number only when the server listens. */
  readonly ownListeners: () => readonly Listener[];
}

interface Destination {
  readonly host: string;
  readonly port: number;
  readonly address: string;
  /** Canonical, then the embedded IPv4 addresses. */
  readonly forms: readonly [Address, ...Address[]];
}

type Verdict = Omit<DestinationDecision, 'host' | 'port' | 'address'>;

export function createDestinationPolicy({ allow, deny, ownListeners }: PolicyOptions): DestinationPolicy {
  const rules = { allow: readRules('allow', allow), deny: readRules('deny', deny), ownListeners };
  return {
    decideName: (host, port) => ({ host, port, ...judgeName(rules, host, port) }),
    decideAddress({ host, address, port }) {
      const read = readAddress(address);
      const verdict =
        read === undefined
          ? { allowed: false, reason: `is ${classifyAddress(address).reason}` }
          : judgeAddress(rules, { host, port, address, forms: [canonicalAddress(read), ...embeddedIPv4(read)] });
      return { host, port, address, ...verdict };
    },
  };
}

/** Names the `allow` entry that would admit it. */
export function deniedError({ host, port, address, reason, rule, admit }: DestinationDecision): GatewayError {
  const literal = address === undefined || comparableName(host) === address;
  const where = literal ? hostAndPort(host, port) : `${hostAndPort(address, port)}, to which ${host} resolves,`;
  const remedy =
    admit === undefined ? unadmittable(rule) : `To admit it, the gateway's operator can add "${admit}" to outbound.allow.`;
  return new GatewayError('destination-denied', `The destination ${where} ${reason}. ${remedy}`, {
    rule: rule === undefined ? 'no entry of outbound.allow admits it' : `outbound.deny has "${rule}"`,
  });
}

/** IPv6 in brackets. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

interface Rules {
  readonly allow: readonly DestinationRule[];
  readonly deny: readonly DestinationRule[];
  readonly ownListeners: () => readonly Listener[];
}

function readRules(list: string, texts: readonly string[]): readonly DestinationRule[] {
  return texts.map((text) => {
    const read = readRule(text);
    if ('problem' in read) throw new TypeError(`outbound.${list}: ${read.problem}`);
    return read.rule;
  });
}

function judgeName(rules: Rules, host: string, port: number): Verdict {
  if (isIP(host) !== 0) return { allowed: true, reason: 'is a literal address, judged as such' };
  const denied = rules.deny.find((rule) => ruleNames(rule, host, port));
  if (denied !== undefined) return deniedBy(denied);
  const admitted = rules.allow.find((rule) => ruleNames(rule, host, port));
  if (admitted !== undefined) return admittedBy(admitted);
  const name = comparableName(host);
  if (!localNames.has(name) && !name.endsWith('.localhost'))
    return { allowed: true, reason: 'is judged by the addresses it resolves to' };
  return { allowed: false, reason: 'is a name of this machine, denied before any look-up', admit: hostAndPort(name, port) };
}

/** With *.localhost (RFC 6761 6.3); names in /etc/hosts of common systems. */
const localNames = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']);

function judgeAddress(rules: Rules, destination: Destination): Verdict {
  const { host, port, address, forms } = destination;
  const [canonical] = forms;
  // Every form: a mapped or NAT64 form leads to the denied IPv4 address.
  const denied = rules.deny.find((rule) => ruleNames(rule, host, port) || forms.some((form) => ruleCovers(rule, form, port)));
  if (denied !== undefined) return deniedBy(denied);
  // The system connects it to another address, which the connector would deny.
  const admit = canonical.range() === 'unspecified' ? undefined : hostAndPort(canonical.toString(), port);
  if (reachesListener(forms, port, rules.ownListeners())) {
    const exact = rules.allow.find((rule) => ruleIsExactly(rule, canonical, port));
    const reason = 'is where this gateway itself listens, which no wider rule admits';
    return exact === undefined ? { allowed: false, reason, admit } : admittedBy(exact);
  }
  const admitted = rules.allow.find((rule) => ruleNames(rule, host, port) || ruleCovers(rule, canonical, port));
  if (admitted !== undefined) return admittedBy(admitted);
  const judged = classifyAddress(address);
  if (judged.public) return { allowed: true, reason: `is ${judged.reason}` };
  return { allowed: false, reason: `is ${judged.reason}, and only public addresses are allowed by default`, admit };
}

function deniedBy(rule: DestinationRule): Verdict {
  return { allowed: false, reason: `is denied by the entry "${rule.text}" of outbound.deny`, rule: rule.text };
}

function admittedBy(rule: DestinationRule): Verdict {
  return { allowed: true, reason: `is admitted by the entry "${rule.text}" of outbound.allow`, rule: rule.text };
}

function unadmittable(rule: string | undefined): string {
  return rule === undefined
    ? 'No entry of outbound.allow can admit it.'
    : 'No entry of outbound.allow can admit it while outbound.deny has that entry.';
}

/** `0.0.0.0` and `::` mean every address. */
export interface Listener {
  readonly address: string;
  readonly port: number;
}

/** `addresses`: canonical forms of one destination. */
function reachesListener(addresses: readonly Address[], port: number, listeners: readonly Listener[]): boolean {
  return listeners.some((listener) => listener.port === port && addresses.some((address) => reaches(address, listener)));
}

function reaches(address: Address, listener: Listener): boolean {
  const bound = readAddress(withoutZone(listener.address));
  // As Linux connects them.
  if (isUnspecified(address)) return true;
  // By a name: it may be any address of this machine.
  if (bound === undefined || isUnspecified(canonicalAddress(bound))) return isLocal(address);
  return address.toString() === canonicalAddress(bound).toString();
}

const loopback = [block('127.0.0.0/8'), block('::1/128')];
const unspecified = [block('0.0.0.0/32'), block('::/128')];

function isLocal(address: Address): boolean {
  if (loopback.some((candidate) => liesIn(address, candidate))) return true;
  return Object.values(networkInterfaces()).some((assigned) =>
    assigned?.some((entry) => {
      const own = readAddress(withoutZone(entry.address));
      return own !== undefined && canonicalAddress(own).toString() === address.toString();
    }),
  );
}

function isUnspecified(address: Address): boolean {
  return unspecified.some((candidate) => liesIn(address, candidate));
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? '';
}
