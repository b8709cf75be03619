import { isIP } from 'node:net';
import { GatewayError } from '#base/gateway-error.ts';
import { type Address, canonicalAddress, embeddedIPv4, readAddress } from './address.ts';
import { classifyAddress } from './address-class.ts';
import { type DestinationRule, readRule, ruleCovers, ruleIsExactly, ruleNames } from './destination-rule.ts';
import { comparableName } from './host-name.ts';
import { type Listener, reachesListener } from './own-listeners.ts';

/** Whether a destination may be dialled, and why; what is not allowed is told as `deniedError` words it. */
export interface DestinationDecision {
  readonly allowed: boolean;
  /** A clause whose subject is the destination: "is a private address (RFC 1918)". */
  readonly reason: string;
  readonly host: string;
  readonly port: number;
  /** Absent where the name alone decided. */
  readonly address?: string;
  /** The entry of `allow` or `deny` that decided. */
  readonly rule?: string;
  /** The entry of `allow` that would admit the destination, where one can. */
  readonly admit?: string | undefined;
}

/** The outbound policy of restCall (contract 9). Hosts are ASCII names or literals without brackets, as a URL's hostname has them. */
export interface DestinationPolicy {
  /** Before any look-up. A literal is allowed here: its address is judged. */
  decideName(host: string, port: number): DestinationDecision;
  /** One address that `host` stands for: the literal itself, or an answer of the look-up. */
  decideAddress(destination: { readonly host: string; readonly address: string; readonly port: number }): DestinationDecision;
}

interface PolicyOptions {
  /** Rules as `readRule` reads them; a problem in one is thrown, for the configuration is to be checked before. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Asked at each decision, because port 0 is known only once the server listens. */
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

/** 403 `destination-denied`: names the address, the reason or rule, and the `allow` entry that would admit it. */
export function deniedError({ host, port, address, reason, rule, admit }: DestinationDecision): GatewayError {
  const literal = address === undefined || comparableName(host) === address;
  const where = literal ? hostAndPort(host, port) : `${hostAndPort(address, port)}, to which ${host} resolves,`;
  const remedy =
    admit === undefined ? unadmittable(rule) : `To admit it, the gateway's operator can add "${admit}" to outbound.allow.`;
  return new GatewayError('destination-denied', `The destination ${where} ${reason}. ${remedy}`);
}

/** `host:port` as a rule, a URL and CONNECT write it: IPv6 in brackets. */
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

/** RFC 6761 6.3, and the names that /etc/hosts of common systems has for the loopback addresses. */
function isLocalName(name: string): boolean {
  return localNames.has(name) || name.endsWith('.localhost');
}

function judgeAddress(rules: Rules, destination: Destination): Verdict {
  const { host, port, address, forms } = destination;
  const [canonical] = forms;
  // Every form is held against deny: a mapped or NAT64 spelling of a denied IPv4 address ends at that address.
  const denied = rules.deny.find((rule) => ruleNames(rule, host, port) || forms.some((form) => ruleCovers(rule, form, port)));
  if (denied !== undefined) return deniedBy(denied);
  // Where it is dialled the system goes to another address, and the connection would be refused there.
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
    : 'No entry of outbound.allow can admit it while that entry stands.';
}

function formsOf(address: Address): readonly [Address, ...Address[]] {
  return [canonicalAddress(address), ...embeddedIPv4(address)];
}
