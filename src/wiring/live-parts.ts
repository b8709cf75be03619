import type { CustomRoleOptions } from '#access/rights/access-options.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import { type AdapterInstances, createAdapterInstances } from '#adapters/adapter-instances.ts';
import type { FoundCommit } from '#adapters/commit-stamps.ts';
import type { Log } from '#base/log.ts';
import { createUsage } from '#base/timing/usage.ts';
import { createRateLimit, type RateLimit } from '#calls/rate-limit.ts';
import type { AdapterConfig, Config } from '#config/config.ts';
import { sameConfig } from '#config/same-config.ts';
import type { StampsCall } from '#http/routes/approval-texts.ts';
import type { TaskRouteNeeds } from '#http/routes/runs/task-routes.ts';
import { createSender } from '#outbound/call/sender.ts';
import { createConnector, refusalBeforeLookup } from '#outbound/dialling/connector.ts';
import type { Resolve } from '#outbound/dialling/resolver.ts';
import { createDestinationPolicy, type Listener } from '#outbound/policy/destination-policy.ts';
import type { OutboundSection } from '#relay/rest-call.ts';
import type { WatchPool } from '#telemetry/gauges.ts';
import { type AdapterNeeds, createAdapter } from './create-adapter.ts';

/** The changes of adapter instances by a reload: their names in the order of the files. */
export interface AdapterChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** Instances that kept their connections, queue and standing. */
  readonly unchanged: readonly string[];
}

/** The parts of a new configuration, created but not in force yet. */
interface PreparedParts {
  readonly adapters: AdapterChanges;
  /** Puts the parts in force in one step. Each replaced part is closed once the last call that uses it has ended. */
  commit(): void;
  discard(): void;
}

/** The parts of a gateway that a reload replaces. A call takes the current parts when it begins and keeps them until it ends. */
export interface LiveParts {
  adapters(): AdapterInstances;
  outbound(): OutboundCalls;
  rateLimit(): RateLimit | undefined;
  customRoles(): readonly CustomRoleOptions[];
  approvalRules(): readonly ApprovalRule[];
  /** `automations.secrets`. */
  secrets(): Config['automations']['secrets'];
  /** Throws, and leaves nothing open, where a part cannot be created. To be called for one configuration at a time. */
  prepare(config: Config): PreparedParts;
  close(): Promise<void>;
}

interface LivePartsOptions {
  readonly config: Config;
  readonly adapterNeeds: AdapterNeeds;
  readonly outboundNeeds: OutboundNeeds;
  readonly log: Log;
}

interface Parts {
  readonly config: Config;
  readonly byName: ReadonlyMap<string, WiredAdapter>;
  readonly adapters: AdapterInstances;
  readonly outbound: OutboundCalls;
  readonly rateLimit: RateLimit | undefined;
}

interface WiredAdapter {
  readonly config: AdapterConfig;
  readonly instance: AdapterInstance;
}

interface Closable {
  close(): Promise<void>;
}

/** Throws where a part cannot be created. */
export function createLiveParts({ config, adapterNeeds, outboundNeeds, log }: LivePartsOptions): LiveParts {
  const make = (next: Config, previous?: Parts): { readonly parts: Parts; readonly made: readonly Closable[] } => {
    const made: Closable[] = [];
    try {
      return { parts: makeParts(next, previous, { adapterNeeds, outboundNeeds, made }), made };
    } catch (error) {
      retire(made);
      throw error;
    }
  };
  const closing = new Set<Promise<void>>();
  const retire = (parts: readonly Closable[]): void => {
    for (const part of parts) {
      const closed = part
        .close()
        .catch(() => log.warn('connections of a replaced part did not close cleanly'))
        .finally(() => closing.delete(closed));
      closing.add(closed);
    }
  };

  let current = make(config).parts;
  return {
    adapters: () => current.adapters,
    outbound: () => current.outbound,
    rateLimit: () => current.rateLimit,
    customRoles: () => current.config.access.roles,
    approvalRules: () => current.config.approvals,
    secrets: () => current.config.automations.secrets,
    prepare(next) {
      const before = current;
      const { parts, made } = make(next, before);
      return {
        adapters: changesBetween(before, parts),
        commit() {
          current = parts;
          retire(listReplaced(before, parts));
        },
        discard: () => retire(made),
      };
    },
    async close() {
      retire([current.adapters, current.outbound]);
      await Promise.all(closing);
    },
  };
}

/** Takes parts with an unchanged configuration from `previous`. Creates the others and adds them to `made`. */
function makeParts(
  config: Config,
  previous: Parts | undefined,
  needs: Pick<LivePartsOptions, 'adapterNeeds' | 'outboundNeeds'> & { readonly made: Closable[] },
): Parts {
  const { adapterNeeds, outboundNeeds, made } = needs;
  const noted = <T extends Closable>(part: T): T => {
    made.push(part);
    return part;
  };
  const wired = config.adapters.map((adapter): WiredAdapter => {
    const known = previous?.byName.get(adapter.name);
    if (known !== undefined && sameConfig(known.config, adapter)) return known;
    return { config: adapter, instance: noted(createAdapter(adapter, adapterNeeds)) };
  });
  const staysOutbound = previous !== undefined && sameConfig(previous.config.outbound, config.outbound);
  return {
    config,
    byName: new Map(wired.map((adapter) => [adapter.config.name, adapter])),
    adapters: createAdapterInstances(wired.map(({ instance }) => instance)),
    outbound: staysOutbound ? previous.outbound : noted(createOutboundCalls(config.outbound, outboundNeeds)),
    rateLimit: rateLimitOf(config, previous, adapterNeeds),
  };
}

/** An unchanged limit keeps its counts. */
function rateLimitOf({ server }: Config, previous: Parts | undefined, { clock }: AdapterNeeds): RateLimit | undefined {
  if (previous !== undefined && sameConfig(previous.config.server.rateLimit, server.rateLimit)) return previous.rateLimit;
  return server.rateLimit === undefined ? undefined : createRateLimit({ ...server.rateLimit, clock });
}

function changesBetween(before: Parts, after: Parts): AdapterChanges {
  const names = [...after.byName.keys()];
  const stays = (name: string): boolean => before.byName.get(name) === after.byName.get(name);
  return {
    added: names.filter((name) => !before.byName.has(name)),
    removed: [...before.byName.keys()].filter((name) => !after.byName.has(name)),
    changed: names.filter((name) => before.byName.has(name) && !stays(name)),
    unchanged: names.filter(stays),
  };
}

function listReplaced(before: Parts, after: Parts): readonly Closable[] {
  const adapters = [...before.byName].filter(([name, adapter]) => after.byName.get(name) !== adapter);
  return [...adapters.map(([, { instance }]) => instance), ...(before.outbound === after.outbound ? [] : [before.outbound])];
}

/** An `OutboundSection` that a reload may replace. */
interface OutboundCalls extends OutboundSection {
  /** Resolves once every call that holds it has ended, including streamed replies, and every connection is closed. */
  close(): Promise<void>;
}

/** Parts that the calls of all sections share. */
export interface OutboundNeeds {
  readonly resolve: Resolve;
  readonly ownListeners: () => readonly Listener[];
  /** Counts connections. */
  readonly pooled: WatchPool;
}

/** Throws where a PEM text or the proxy's URL cannot be used. */
function createOutboundCalls(limits: Config['outbound'], needs: OutboundNeeds): OutboundCalls {
  const { resolve, ownListeners, pooled } = needs;
  const policy = createDestinationPolicy({ ...limits, ownListeners });
  const sender = pooled({ pool: 'restCall' }, createSender({ connect: createConnector({ ...limits, resolve, policy }) }));
  const usage = createUsage();
  return {
    limits,
    sender,
    refusal: (url) => refusalBeforeLookup(policy, url),
    hold: () => usage.begin(),
    async close() {
      // A call between two hops of a redirect is in flight, but not in the sender.
      await usage.ended();
      await sender.close();
    },
  };
}

type LiveAdapters = Pick<LiveParts, 'adapters'>;

/** By the adapter instance in force, which may be another one than that of the call. */
export async function findCommit(
  live: LiveAdapters,
  { adapter, label }: Parameters<TaskRouteNeeds['findCommit']>[0],
): Promise<FoundCommit> {
  const found = live
    .adapters()
    .all()
    .find(({ name }) => name === adapter);
  return found === undefined ? { unknown: `There is no adapter instance "${adapter}" any more.` } : await found.findCommit(label);
}

export function stampsCall(live: LiveAdapters, { adapter, ...call }: Parameters<StampsCall>[0]): boolean {
  const found = live
    .adapters()
    .all()
    .find(({ name }) => name === adapter);
  return found?.stamps({ ...call, contentType: call.contentType ?? found.defaultContentType(call.path) }) ?? false;
}
