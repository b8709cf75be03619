import { CallScope } from '#outbound/call/call-scope.ts';
import type { OutboundCall, UpstreamReply } from '#outbound/call/outbound-call.ts';
import type { Sender } from '#outbound/call/sender.ts';
import type { Ask, Asked, Probed } from '../adapter-kind.ts';
import { sendAuthenticated } from '../credentials/credentials.ts';
import type { NodeCall, NodeNeeds } from './node-call.ts';

/** Milliseconds. */
export const probeLimit = 10_000;

export type ToOutbound = (call: NodeCall, credentials: readonly string[]) => OutboundCall;

/** Milliseconds between two looks. */
const peopleInterval = 600_000;

interface PeopleWatch {
  /** Never rejects. */
  look(sender: Sender): Promise<void>;
  names(): readonly string[];
}

/** An orchestrator that puts people into groups by itself gives them more than their assertions say. */
export function createPeopleWatch({ url, kind, instance, clock, log }: NodeNeeds, prober: Prober): PeopleWatch {
  let names: readonly string[] = [];
  let lookedAt = -Infinity;
  return {
    names: () => names,
    async look(sender) {
      if (kind.namedPeople === undefined || clock.monotonic() - lookedAt < peopleInterval) return;
      lookedAt = clock.monotonic();
      const found = await prober.namedPeople(sender).catch(() => undefined);
      if (found === undefined || found.join() === names.join()) return;
      names = found;
      if (found.length === 0) return;
      const reason = `Its groups name ${found.slice(0, 10).join(', ')}: they have these groups in every call, also in one of a workflow that may not use them.`;
      log.warn('an orchestrator puts people into groups by itself', {
        adapter: instance.name,
        address: new URL(url).host,
        reason,
      });
    },
  };
}

/** Not through the breaker. */
interface Prober {
  probe(sender: Sender): Promise<Probed>;
  /** Undefined: not known. */
  namedPeople(sender: Sender): Promise<readonly string[] | undefined>;
  stop(): void;
}

export function createProber({ kind, instance, credentials, userAgent, clock }: NodeNeeds, outbound: ToOutbound): Prober {
  const scopes = new Set<CallScope>();
  const askOne = async (sender: Sender, scope: CallScope, path: string, accept: string): Promise<Asked> => {
    const call = { method: 'GET', path, headers: ['Accept', accept, 'User-Agent', userAgent] } as const;
    const send = (held: readonly string[]): Promise<UpstreamReply> => sender.send(outbound(call, held), scope);
    const { reply } = await sendAuthenticated({ credentials, isQuery: true, scope, send });
    reply.discard();
    return { path: outbound(call, []).path, reply };
  };
  const inScope = async <Result>(sender: Sender, work: (ask: Ask) => Promise<Result>): Promise<Result> => {
    const scope = new CallScope({ total: Math.min(probeLimit, instance.timeouts.total), clock });
    scopes.add(scope);
    try {
      return await work((path, accept) => askOne(sender, scope, path, accept));
    } finally {
      scopes.delete(scope);
      scope.end();
    }
  };
  return {
    probe: (sender) => inScope(sender, (ask) => kind.probe(ask)),
    namedPeople: (sender) => inScope(sender, async (ask) => await kind.namedPeople?.(ask)),
    stop() {
      for (const scope of scopes) scope.abort(new Error('the adapter is closed'));
    },
  };
}
