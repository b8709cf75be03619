import { type SeededRandom, seededRandom } from '../seeded-random.ts';

/** How the upstream answers a call, once it has read it. */
export interface ReplyPlan {
  readonly shape: 'small' | 'large' | 'too-large' | 'empty' | 'restconf-error' | 'plain-error';
  readonly status: number;
  readonly chunked: boolean;
  /** `stale`: the reply says keep-alive, and the upstream closes the connection at its next request. */
  readonly connection: 'keep-alive' | 'close' | 'stale';
  /** Milliseconds before the reply. */
  readonly delay: number;
  /** Of a large reply. */
  readonly instances: number;
}

/** When the caller leaves: within its request, some milliseconds after the request, or at the first byte of the reply. */
interface LeavePlan {
  readonly when: 'sending' | 'waiting' | 'reading';
  readonly milliseconds: number;
}

export interface PlannedCall {
  readonly id: string;
  readonly route: 'restAction' | 'restRequest' | 'restQuery' | 'restCall';
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** Undefined for restCall. */
  readonly adapter: string | undefined;
  /** Relative to the base address; names the id. */
  readonly path: string;
  /** JSON text. */
  readonly body: string | undefined;
  /** `responseHeaders` of restCall. */
  readonly withHeaders: boolean;
  readonly reply: ReplyPlan;
  readonly leave: LeavePlan | undefined;
}

/** The most bytes of a reply: the `responseLimit` (400KiB) of the gateway of a history. */
export const replyLimit = 409_600;

/** The adapter instances of a history, by weight. */
const adapters = ['one', 'one', 'one', 'many', 'many', 'many', 'copies', 'copies', 'narrow', 'brittle', 'not TLS'] as const;
export type HistoryAdapter = (typeof adapters)[number];

const routes = ['restAction', 'restAction', 'restAction', 'restRequest', 'restRequest', 'restQuery', 'restCall'] as const;
const changing = ['DELETE', 'PATCH', 'POST', 'PUT'] as const;

/** Call `index` of the history with this seed: the same in every run. */
export function plannedCall(seed: number, index: number): PlannedCall {
  const random = seededRandom(Math.imul(seed + 1, 0x27d4eb2f) ^ Math.imul(index + 1, 0x165667b1));
  const id = `h${index}`;
  const route = random.pick(routes);
  const method = methodOf(route, random);
  const denied = route !== 'restCall' && random.chance(0.01);
  return {
    id,
    route,
    method,
    adapter: route === 'restCall' ? undefined : denied ? 'one' : random.pick(adapters),
    path: `${denied ? 'denied' : 'data'}/${id}?at=10.0.0.0%2F24`,
    body: bodyOf(id, { route, method }, random),
    withHeaders: random.chance(0.5),
    reply: replyPlan(random),
    leave: random.chance(0.06) ? leavePlan(random) : undefined,
  };
}

function methodOf(route: PlannedCall['route'], random: SeededRandom): PlannedCall['method'] {
  if (route === 'restAction') return 'POST';
  if (route === 'restQuery') return 'GET';
  return random.chance(0.25) ? 'GET' : route === 'restCall' ? 'POST' : random.pick(changing);
}

function bodyOf(id: string, { route, method }: Pick<PlannedCall, 'route' | 'method'>, random: SeededRandom): string | undefined {
  // An action without input has an empty object, which is no message body to most kinds (RFC 8040 3.6).
  if (route === 'restAction' && random.chance(0.2)) return '{}';
  if (method === 'GET' || method === 'DELETE') return undefined;
  const padding = 'x'.repeat(random.chance(0.05) ? random.whole(60_000, 200_000) : random.whole(0, 400));
  return `{"input" : {"id":"${id}", "n":18446744073709551615,"padding":"${padding}"}}`;
}

function replyPlan(random: SeededRandom): ReplyPlan {
  const shape = shapeOf(random);
  return {
    shape,
    status: statusOf(shape, random),
    chunked: random.chance(0.4),
    connection: random.chance(0.6) ? 'keep-alive' : random.pick(['close', 'stale'] as const),
    // 3 seconds are longer than every time limit of the history.
    delay: random.chance(0.7) ? 0 : random.chance(0.9) ? random.whole(1, 60) : 3_000,
    instances: random.whole(1_000, 4_000),
  };
}

function shapeOf(random: SeededRandom): ReplyPlan['shape'] {
  if (random.chance(0.55)) return 'small';
  return random.chance(0.04) ? 'too-large' : random.pick(['large', 'empty', 'restconf-error', 'plain-error'] as const);
}

function statusOf(shape: ReplyPlan['shape'], random: SeededRandom): number {
  switch (shape) {
    case 'empty':
      return random.pick([200, 204]);
    case 'restconf-error':
      return random.pick([400, 404, 409, 500, 502, 503]);
    case 'plain-error':
      return random.pick([401, 404, 500, 502, 503, 504]);
    default:
      return random.pick([200, 200, 201]);
  }
}

function leavePlan(random: SeededRandom): LeavePlan {
  return { when: random.pick(['sending', 'waiting', 'waiting', 'reading'] as const), milliseconds: random.whole(0, 150) };
}
