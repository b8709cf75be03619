import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { until } from '../until.ts';
import { type FarRequest, jsonReply, upstream } from '../upstreams/upstream.ts';

/** An upstream that counts each action by the number in its body. */
export interface CountingUpstream {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** How often each action was read whole. */
  readonly arrived: ReadonlyMap<string, number>;
  /** Every action in order. `from`: the first segment of its path, by which a test tells gateways apart. */
  readonly arrivals: readonly { readonly action: string; readonly from: string }[];
  /** Queries that were read. */
  readonly queries: number;
  /** Resolves once so many actions have arrived in all. */
  reaches(count: number): Promise<unknown>;
  /** Answers after so many milliseconds from now on. */
  answerAfter(delay: () => number): void;
  /** Answers with so many characters more from now on. */
  fill(characters: number): void;
  /** Gives no answer to these actions until they are released. */
  hold(wanted: (action: string) => boolean): Held;
}

interface Held {
  /** The actions that wait for an answer. */
  readonly actions: readonly string[];
  /** The actions whose connection ended without an answer. */
  readonly left: readonly string[];
  /** Answers the held actions, and holds no other one. */
  release(): void;
}

/** Answers an action with its number and `from`, and a query with its path. */
export async function countingUpstream(owner: Owner): Promise<CountingUpstream> {
  const arrived = new Map<string, number>();
  const arrivals: { readonly action: string; readonly from: string }[] = [];
  let queries = 0;
  let delay = (): number => 0;
  let filler: string | undefined;
  let holding: { readonly wanted: (action: string) => boolean; readonly held: string[]; readonly left: string[] } | undefined;
  let free = Promise.withResolvers<void>();
  const far = await upstream(owner, async (request, socket) => {
    const from = request.target.split('/')[1] ?? '';
    if (request.method === 'GET') {
      queries += 1;
      return jsonReply(JSON.stringify({ asked: request.target }));
    }
    const action = actionOf(request);
    arrived.set(action, (arrived.get(action) ?? 0) + 1);
    arrivals.push({ action, from });
    if (holding?.wanted(action) === true) {
      const { held, left } = holding;
      held.push(action);
      let isFree = false;
      socket.on('close', () => isFree || left.push(action));
      await free.promise;
      isFree = true;
    } else await lapse(delay(), 'the upstream is slow');
    return jsonReply(JSON.stringify({ action, from, filler }));
  });
  return {
    url: far.url,
    arrived,
    arrivals,
    get queries() {
      return queries;
    },
    reaches: (count) => until(`${count} actions arrive`, () => arrivals.length >= count),
    answerAfter: (next) => void (delay = next),
    fill: (characters) => void (filler = characters === 0 ? undefined : 'x'.repeat(characters)),
    hold(wanted) {
      free = Promise.withResolvers();
      const { resolve } = free;
      const [held, left] = [[] as string[], [] as string[]];
      const mine = { wanted, held, left };
      holding = mine;
      return {
        actions: held,
        left,
        release() {
          if (holding === mine) holding = undefined;
          resolve();
        },
      };
    },
  };
}

function actionOf({ body }: FarRequest): string {
  return (JSON.parse(body.toString()) as { readonly action: string }).action;
}
