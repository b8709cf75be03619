import { randomUUID } from 'node:crypto';
import { type Person, people } from '../approvals/approval-caller.ts';
import type { Reply } from '../callers/http-client.ts';
import { basic, type GatewayProcess, testPassword } from '../gateway/start-gateway.ts';
import { lapse } from '../lapse.ts';
import { actionTask, type SeenTask, type TaskDocument } from '../runs/run-caller.ts';
import { until } from '../until.ts';

/** The section of the configuration for the calls with an approval, and the people of the load. */
export const loadApprovals = [{ name: 'approved', when: { paths: ['**/approved'] }, approvers: { groups: ['noc-leads'] } }];
export const loadUsers = [...people];

const pause = (name: string): TaskDocument => ({ [name]: { wait: { milliseconds: 400 } } });

const names = ['one', 'two', 'three'];

/** Three actions, with a wait between them. Their numbers are the names of the run and of the task. */
export const threeActions: readonly TaskDocument[] = names.flatMap((name) => [
  actionTask(name, `$workflow.input.run + "/${name}"`),
  pause(`after-${name}`),
]);

export function actionsOf(run: string): readonly string[] {
  return names.map((name) => `${run}/${name}`);
}

/** The second actions of the first runs of a load, which are in flight during the whole failover where the upstream holds them. */
export function isLong(action: string): boolean {
  return / long \d+\/two$/u.test(action);
}

export function actionOf(run: string, task: SeenTask): string {
  return `${run}/${task.name}`;
}

/** Milliseconds between two starts of runs, and between two calls of a caller. */
const [betweenStarts, betweenCalls] = [300, 30];

export const longRuns = 6;

/** Callers with actions, with keyed actions and with approvals, and starts of runs, at each of the gateways until `stop`. */
export class FailoverLoad {
  readonly #gateways: readonly GatewayProcess[];
  readonly #automation: string;
  readonly #name: string;
  readonly #lanes: readonly Promise<void>[];
  /** Answered changes of each gateway. */
  readonly #answered: number[];
  #count = 0;
  #ended = false;
  /** When the latest of the answered changes began. */
  #lastBegin = performance.now();
  /** Request ids of actions that were answered with 200, by action. */
  readonly acknowledged = new Map<string, string>();
  /** Ids of runs whose start was answered, by name. */
  readonly runs = new Map<string, string>();
  /** Every name that the load has given a run, also of a start that was not answered. */
  readonly runNames: string[] = [];
  /** Replies that are no success, by status and code. */
  readonly refused = new Map<string, number>();
  /** Replies to repeated keys that are another one than the first. */
  readonly contradictions: string[] = [];
  /** Milliseconds: the longest time in which no change began that was answered, and the longest wait for a reply. */
  longestGap = 0;
  slowest = 0;

  /** `name`: the actions of this load begin with it. */
  constructor(gateways: readonly GatewayProcess[], automation: string, name: string) {
    this.#gateways = gateways;
    this.#automation = automation;
    this.#name = name;
    this.#answered = gateways.map(() => 0);
    this.#lanes = gateways.flatMap((_, index) => [
      ...[1, 2].map(() => this.#lane(betweenCalls, () => this.#act(index))),
      ...[1, 2].map(() => this.#lane(betweenCalls, () => this.#actWithKey(index))),
      this.#lane(betweenStarts, () => this.#startRun(index)),
      this.#lane(betweenStarts, () => this.#actWithApproval(index)),
    ]);
  }

  /** Resolves once each gateway has answered so many further changes. */
  async answers(count: number): Promise<void> {
    const goals = this.#answered.map((answered) => answered + count);
    await until(`each gateway answers ${count} changes: ${this.told()}`, () =>
      goals.every((goal, index) => (this.#answered[index] ?? 0) >= goal),
    );
  }

  /** Begins no further call, and resolves once all are answered. */
  async stop(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#lanes);
  }

  told(): string {
    return [...this.refused].map(([reason, count]) => `${count} × ${reason}`).join(', ');
  }

  async #lane(pace: number, work: () => Promise<unknown>): Promise<void> {
    while (!this.#ended) {
      await work();
      await lapse(pace, 'callers have other work');
    }
  }

  async #act(gateway: number): Promise<void> {
    const action = this.#next('plain');
    const reply = await this.#sendAction(gateway, action);
    if (reply?.status === 200) this.#acknowledge(action, reply);
  }

  /** Repeats an action with its key until it has a reply, and then again at the other gateway. */
  async #actWithKey(gateway: number): Promise<void> {
    const action = this.#next('keyed');
    const headers = { 'Idempotency-Key': randomUUID() };
    let reply = await this.#sendAction(gateway, action, headers);
    while (!this.#ended && isPassing(reply)) {
      await lapse(200, 'Retry-After of the reply, shorter');
      reply = await this.#sendAction(gateway, action, headers);
    }
    if (reply?.status !== 200) return;
    this.#acknowledge(action, reply);
    const other = (gateway + 1) % this.#gateways.length;
    const repeated = await this.#sendAction(other, action, headers);
    if (isPassing(repeated) || repeated?.text === reply.text) return;
    this.contradictions.push(`${action}: ${reply.text}, then ${repeated?.status} ${repeated?.text}`);
  }

  async #actWithApproval(gateway: number): Promise<void> {
    const action = this.#next('approved');
    const asked = await this.#sendAction(gateway, action, {}, '/approved');
    const id = (asked?.json() as { readonly approval?: { readonly id: string } } | undefined)?.approval?.id;
    if (id === undefined) return;
    let granted: Reply | undefined;
    do {
      granted = await this.#send(gateway, 'lea', `/approvals/${id}/grant`, { reason: 'It is planned.' });
      await lapse(200, 'the call leaves some time after the grant');
    } while (!this.#ended && isPassing(granted));
    if (granted?.status !== 200) return;
    const reply = await this.#sendAction(gateway, action, { Approval: id }, '/approved');
    if (reply?.status === 200) this.#acknowledge(action, reply);
  }

  /** A start without an answer is not repeated: the next run has another name. */
  async #startRun(gateway: number): Promise<void> {
    const isFirst = this.runNames.length < longRuns;
    const run = this.#next(isFirst ? 'run long' : 'run');
    this.runNames.push(run);
    const target = `/automation_catalog/automations/${this.#automation}/run`;
    const reply = await this.#send(gateway, 'bob', target, { input: { run } });
    if (reply?.status === 201) this.runs.set(run, (reply.json() as { readonly id: string }).id);
  }

  #sendAction(
    gateway: number,
    action: string,
    headers: Readonly<Record<string, string>> = {},
    path = '/act',
  ): Promise<Reply | undefined> {
    const body = { params: { path, accept: 'application/json' }, body: { action } };
    return this.#send(gateway, 'ann', '/orchestrator_manager/restAction/Far', body, headers);
  }

  /** Undefined where the gateway ended the connection without a reply. */
  async #send(
    gateway: number,
    person: Person,
    target: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply | undefined> {
    const from = performance.now();
    const sent = { Authorization: basic(person, testPassword), 'Content-Type': 'application/json', ...headers };
    const request = { method: 'POST', target, headers: sent, body: JSON.stringify(body) };
    const reply = await this.#gateways[gateway]?.send(request).catch(() => undefined);
    const now = performance.now();
    this.slowest = Math.max(this.slowest, now - from);
    if (reply !== undefined && reply.status < 300) {
      this.longestGap = Math.max(this.longestGap, now - this.#lastBegin);
      this.#lastBegin = Math.max(this.#lastBegin, from);
      this.#answered[gateway] = (this.#answered[gateway] ?? 0) + 1;
    } else {
      const reason = reply === undefined ? 'no reply' : `${reply.status} ${codeOf(reply)}`;
      if (!reason.endsWith('approval-required')) this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1);
    }
    return reply;
  }

  #acknowledge(action: string, reply: Reply): void {
    this.acknowledged.set(action, reply.header('x-request-id') ?? '');
  }

  #next(kind: string): string {
    this.#count += 1;
    return `${this.#name} ${kind} ${this.#count}`;
  }
}

/** The gateway says that the same request may be sent again. */
function isPassing(reply: Reply | undefined): boolean {
  return reply === undefined || reply.status === 503 || codeOf(reply) === 'idempotency-key-in-use';
}

function codeOf(reply: Reply): string {
  return (reply.json() as { readonly code?: string }).code ?? '';
}
