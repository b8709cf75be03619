import type { Socket } from 'node:net';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { type FarHandler, type FarRequest, jsonReply, type Upstream, upstream } from '../upstreams/upstream.ts';
import { refusalBytes, replyBytes } from './history-answers.ts';
import type { Applied } from './history-checker.ts';
import type { PlannedCall } from './history-plan.ts';

/** The log that all upstreams of a history share; they are the nodes of one orchestrator. */
export interface SharedLog {
  readonly calls: ReadonlyMap<string, PlannedCall>;
  /** Whole requests, at the moment they were read. */
  readonly applied: Applied[];
}

/** The next node becomes primary after so many requests. */
const requestsPerPrimary = 150;

/** Starts `count` upstreams that add each request to `log` and answer as planned. */
export async function historyUpstreams(owner: Owner, count: number, log: SharedLog): Promise<readonly Upstream[]> {
  const stale = new WeakSet<Socket>();
  const primary = (): number => Math.floor(log.applied.length / requestsPerPrimary) % count;
  const handler = (side: number): FarHandler => {
    return async (request, socket) => {
      // The connection ended in the same iteration of the event loop: a request on a closed connection does not count as read.
      if (socket.destroyed) return undefined;
      const id = /\/(h\d+)\?/u.exec(request.target)?.[1];
      if (id === undefined) return aboutItself(request, { alone: count === 1, primary: side === primary() });
      const isPrimary = side === primary();
      const call = log.calls.get(id);
      log.applied.push({ id, intact: call !== undefined && isIntact(request, call) });
      if (call === undefined) return undefined;
      return await answer(call, { socket, stale, refuses: !isPrimary && call.adapter === 'many' && call.method !== 'GET' });
    };
  };
  const sides: Upstream[] = [];
  for (let side = 0; side < count; side += 1) {
    const far = await upstream(owner, handler(side));
    far.onConnection((socket) => {
      socket.on('data', () => {
        if (stale.has(socket)) socket.destroy();
      });
    });
    sides.push(far);
  }
  return sides;
}

async function answer(
  call: PlannedCall,
  { socket, stale, refuses }: { readonly socket: Socket; readonly stale: WeakSet<Socket>; readonly refuses: boolean },
): Promise<Buffer | undefined> {
  const { delay, connection } = call.reply;
  if (delay > 0) await lapse(delay, 'the upstream is slow');
  if (refuses) return refusalBytes(call.id);
  if (connection === 'stale') stale.add(socket);
  if (connection !== 'close') return replyBytes(call);
  if (!socket.destroyed) socket.end(replyBytes(call));
  return undefined;
}

/** The reply to a probe: NSO's high-availability status, or an empty object for any other path. */
function aboutItself({ target }: FarRequest, { alone, primary }: { readonly alone: boolean; readonly primary: boolean }): Buffer {
  if (!target.endsWith('/tailf-ncs:high-availability/status')) return jsonReply('{}');
  const mode = alone ? 'none' : primary ? 'primary' : 'secondary';
  return jsonReply(`{"tailf-ncs:status":{"mode":"${mode}"}}`);
}

function isIntact(request: FarRequest, call: PlannedCall): boolean {
  const body = request.body.toString();
  if (request.method !== call.method || !request.target.endsWith(`/${call.path}`)) return false;
  // Adapter kinds send an empty input as `{}` or as no body.
  return call.body === '{}' ? body === '' || body === '{}' : body === (call.body ?? '');
}
