import { isIP } from 'node:net';
import { GatewayError } from '#base/gateway-error.ts';
import { type Address, canonicalAddress, embeddedIPv4, readAddress } from './address.ts';
import { classifyAddress } from './address-class.ts';
import { type DestinationRule, readRule, ruleCovers, ruleIsExactly, ruleNames } from './destination-rule.ts';
import { comparableName } from './host-name.ts';
import { type Listener, reachesListener } from './own-listeners.ts';

/** Whether a destination may be dialled, and why. `deniedError` makes the error of one that is not allowed. */
export interface DestinationDecision {
  readonly allowed: boolean;
  /** A clause whose subject is the destination: "is a private address (RFC 1918)". */
  readonly reason: string;
  readonly host: string;
  readonly port: number;
  /** Absent where the name alone led to the decision. */
  readonly address?: string;
  /** The entry of `allow` or `deny` that led to the decision. */
  readonly rule?: string;
  /** The entry of `allow` that would admit the destination. Absent where no entry can. */
  readonly admit?: string | undefined;
}

/** The outbound policy of restCall. Hosts are ASCII names as in a URL's `hostname`, or literal addresses without brackets. */
export interface DestinationPolicy {
  /** Decides before any look-up. Allows each literal address: `decideAddress` decides on those. */
  decideName(host: string, port: number): DestinationDecision;
  /** Decides on one address of `host`: the literal itself, or a result of its look-up. */
  decideAddress(destination: { readonly host: string; readonly address: string; readonly port: number }): DestinationDecision;
}

interface PolicyOptions {
  /** Rules as `readRule` reads them. An invalid one is thrown: the configuration must be checked before. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Called for each decision, because port 0 gets its number only when the server listens. */
  readonly ownListeners: () => readonly Listener[];
}

interface Destination {
  readonly host: string;
  readonly port: number;
  readonly address: string;
  /** The address in canonical form and the IPv4 addresses it embeds. */
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
        read === undefined ? unreadable(address) : judgeAddress(rules, { host, port, address, forms: formsOf(read) });
      return { host, port, address, ...verdict };
    },
  };
}

/** 403 `destination-denied` with the address, the reason or rule, and the `allow` entry that would admit it. */
export function deniedError({ host, port, address, reason, rule, admit }: DestinationDecision): GatewayError {
  const literal = address === undefined || comparableName(host) === address;
  const where = literal ? hostAndPort(host, port) : `${hostAndPort(address, port)}, to which ${host} resolves,`;
  const remedy =
    admit === undefined ? unadmittable(rule) : `To admit it, the gateway's operator can add "${admit}" to outbound.allow.`;
  return new GatewayError('destination-denied', `The destination ${where} ${reason}. ${remedy}`, {
    rule: rule === undefined ? 'no entry of outbound.allow admits it' : `outbound.deny has "${rule}"`,
  });
}

/** `host:port` as in rules, URLs and CONNECT: IPv6 in brackets. */
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
  if (isLocalName(comparableName(host))) {
    return {
      allowed: false,
      reason: 'is a name of this machine, denied before any look-up',
      admit: hostAndPort(comparableName(host), port),
    };
  }
  return { allowed: true, reason: 'is judged by the addresses it resolves to' };
}

const localNames = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']);

/** True for the names of RFC 6761 6.3, and for those that /etc/hosts of common systems gives to the loopback addresses. */
function isLocalName(name: string): boolean {
  return localNames.has(name) || name.endsWith('.localhost');
}

function judgeAddress(rules: Rules, destination: Destination): Verdict {
  const { host, port, address, forms } = destination;
  const [canonical] = forms;
  // `deny` is compared with every form: a mapped or NAT64 form of a denied IPv4 address leads to that address.
  const denied = rules.deny.find((rule) => ruleNames(rule, host, port) || forms.some((form) => ruleCovers(rule, form, port)));
  if (denied !== undefined) return deniedBy(denied);
  // The system connects an unspecified address to another one, where the connector would deny the connection.
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

function unreadable(address: string): Verdict {
  return { allowed: false, reason: `is ${classifyAddress(address).reason}` };
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

function formsOf(address: Address): readonly [Address, ...Address[]] {
  return [canonicalAddress(address), ...embeddedIPv4(address)];
}
