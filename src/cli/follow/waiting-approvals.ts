import { setTimeout as sleep } from 'node:timers/promises';
import { type Gateway, GatewayError } from '#client/gateway.ts';

interface Telling {
  readonly gateway: Gateway;
  /** Id of the run. */
  readonly run: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Called once for each approval that the run waits for. */
  readonly tell: (approval: string) => Promise<void>;
}

/** Milliseconds between two looks: the events of a run do not tell of its approvals. */
const interval = 1_000;

/** Tells of the approvals that a run waits for, until the signal. What keeps the gateway from an answer, the events of the run tell. */
export async function tellApprovals({ gateway, run, signal, tell }: Telling): Promise<void> {
  const told = new Set<string>();
  while (!signal.aborted) {
    const query = { run, status: 'waiting', limit: 100 } as const;
    const waiting = await gateway.listApprovals({ query, signal }).catch((error: unknown) => {
      if (signal.aborted || error instanceof GatewayError) return undefined;
      throw error;
    });
    for (const { id } of waiting?.value.list ?? []) {
      if (!told.has(id)) await tell(id);
      told.add(id);
    }
    await sleep(interval, undefined, { signal }).catch(() => undefined);
  }
}
