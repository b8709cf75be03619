import assert from 'node:assert/strict';
import type { SeenApproval } from '../approvals/approval-caller.ts';
import type { Reply } from '../callers/http-client.ts';
import {
  type Event,
  everyone,
  isApprover,
  type ModelApproval,
  ModelAutomation,
  type ModelRun,
  type Person,
  whyNot,
} from './hand-model.ts';
import { compareRun, handsText, isUnsure, statusOf } from './history-check.ts';
import { type Command, programOf } from './history-commands.ts';
import { documentOf, type HistoryStage, pathOf, soon } from './history-stage.ts';
import { ModelWorld, type WorkflowName } from './model-world.ts';

/** What the histories of a suite had in them, so that a test that tries nothing cannot pass. */
export type Tally = Map<string, number>;

const catalogue = '/automation_catalog';

/** A sequence of commands, played at the gateway and in the model. */
export class History {
  readonly #stage: HistoryStage;
  readonly #tally: Tally;
  readonly #name: string;
  readonly #world = new ModelWorld();
  readonly #settled = new Map<ModelRun, string>();
  #count = 0;

  constructor(stage: HistoryStage, name: string, tally: Tally) {
    this.#stage = stage;
    this.#name = name;
    this.#tally = tally;
  }

  async play(commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      await this.#do(command);
      await this.#settle();
    }
    await this.#finish();
    this.#assertArrivals();
  }

  async #do(command: Command): Promise<void> {
    const { kind, who, nth } = command;
    const { runs, automations } = this.#world;
    const roots = runs.filter(({ given }) => given.parent === undefined);
    const automation = pick(automations, nth);
    const approval = pick(this.#approvals(nth % 4 === 3 ? ['waiting', 'used', 'over'] : ['waiting']), nth);
    if (kind === 'store') return await this.#store(command);
    if (kind === 'create') return await this.#create(command);
    if (kind === 'form') return await this.#putForm(who);
    if (kind === 'event') return await this.#send(who, 'go');
    if (kind === 'take') return await this.#take(who, nth);
    if (kind === 'grant') return approval && (await this.#grant(who, approval.run, approval.approval));
    if (kind === 'reject') return approval && (await this.#reject(who, approval.run, approval.approval));
    if (kind === 'decide') return await this.#decide(who, pick(runs.filter(isUnsure), nth));
    if (kind === 'rerun')
      return await this.#rerun(
        who,
        pick(
          roots.filter(({ hasEnded }) => hasEnded),
          nth,
        ),
      );
    if (kind === 'cancel')
      return await this.#cancel(
        who,
        pick(
          roots.filter(({ hasEnded }) => !hasEnded),
          nth,
        ),
      );
    if (automation === undefined) return undefined;
    if (kind === 'edit') return await this.#edit(who, automation, nth);
    if (kind === 'schedule') return await this.#schedule(who, automation);
    if (kind === 'pause') return await this.#pause(who, automation, nth);
    if (kind === 'import') return await this.#import(who, automation);
    return await this.#start(who, automation);
  }

  async #store({ who, nth, shape, gate }: Command): Promise<void> {
    const name: WorkflowName = nth % 3 === 0 || shape === 'child' ? 'p' : 'c';
    const inner = who === 'ada' && nth % 4 === 0 ? 'latest' : this.#world.newest('c')?.version;
    const program = programOf(name === 'c' && (shape === 'unsure' || shape === 'settle') ? 'act' : shape, gate, inner ?? '1.0.0');
    const version = `1.${this.#next()}.0`;
    const document = documentOf({ namespace: this.#name, name, version, program }, this.#stage);
    if (await this.#accepts(who, 'POST', `${catalogue}/workflows`, document))
      this.#world.versions[name].push({ version, program, storers: new Set([who]) });
  }

  async #create({ who, nth }: Command): Promise<void> {
    const name = `${this.#name} ${this.#next()}`;
    const repeats = nth % 2 === 0;
    const data = { workflowId: `${this.#name}.p`, formId: this.#name, gbac: { write: ['leads'] }, input: { a: 0 } };
    const schedule = repeats ? { repeatInterval: '1 day', nextRunAt: '2999-01-01T00:00:00Z' } : {};
    const reply = await this.#ask(who, 'POST', `${catalogue}/automations`, { name, data, ...schedule });
    if (reply.status === 201)
      this.#world.automations.push(new ModelAutomation({ id: (reply.json() as { _id: string })._id, name, repeats, by: who }));
  }

  async #edit(who: Person, automation: ModelAutomation, nth: number): Promise<void> {
    const patch = (data: object): Promise<boolean> => this.#accepts(who, 'PATCH', targetOf(automation), { data });
    const newest = this.#world.newest('p')?.version;
    if (nth % 5 === 0) {
      if (await patch({ input: { a: this.#next() } })) automation.changed('input/a', who);
    } else if (nth % 5 === 1) {
      const write = ['leads', ...(this.#next() % 2 === 0 ? ['noc'] : []), `g${this.#count}`];
      if (await patch({ gbac: { write } })) automation.changed('gbac/write', who);
    } else if (nth % 5 === 2) {
      const pinned = automation.pinned === newest ? undefined : newest;
      if (!(await patch({ workflowVersion: pinned ?? null }))) return;
      automation.pinned = pinned;
      automation.changed('workflowVersion', who);
    } else if (nth % 5 === 3) {
      if (!(await patch({ formId: automation.hasForm ? null : this.#name }))) return;
      automation.hasForm = !automation.hasForm;
      automation.changed('formId', who);
    } else await patch({ description: `${this.#next()}` });
  }

  async #import(who: Person, automation: ModelAutomation): Promise<void> {
    const document = (await this.#ask('ada', 'GET', targetOf(automation))).json() as { readonly data: object };
    const line = { ...document, lastModifiedBy: 'kim', data: { ...document.data, owner: 'kim', input: { a: this.#next() } } };
    if (await this.#accepts(who, 'POST', `${catalogue}/import`, JSON.stringify(line), 'application/x-ndjson'))
      automation.changed('input/a', who);
  }

  async #putForm(who: Person): Promise<void> {
    const form = { type: 'object', title: `${this.#next()}`, properties: { a: { type: 'number' } } };
    if (await this.#accepts(who, 'PUT', `${catalogue}/forms/${this.#name}`, form)) this.#world.formWriter = who;
  }

  async #take(who: Person, nth: number): Promise<void> {
    const automation = pick(this.#world.automations, nth);
    if (nth % 2 === 0 && automation !== undefined) {
      if (await this.#accepts(who, 'POST', `${targetOf(automation)}/take`)) automation.taken(who);
      return;
    }
    const name = nth % 4 === 1 ? 'p' : 'c';
    if (await this.#accepts(who, 'POST', `${catalogue}/workflows/${this.#name}.${name}/take`))
      for (const { storers } of this.#world.versions[name]) storers.add(who);
  }

  /** Makes it due now: who wrote the time last has scheduled the run. */
  async #schedule(who: Person, automation: ModelAutomation): Promise<void> {
    const due = new Date(Date.UTC(2026, 0, 1) + this.#next() * 1_000).toISOString();
    if (!(await this.#accepts(who, 'PATCH', targetOf(automation), { nextRunAt: due }))) return;
    automation.scheduler = who;
    const { runs } = this.#world;
    const runsNow = runs.some((run) => run.given.automation === automation && run.isScheduled && !run.hasEnded);
    await soon(async () => {
      const { nextRunAt } = (await this.#ask('ada', 'GET', targetOf(automation))).json() as { readonly nextRunAt?: string };
      assert.notEqual(nextRunAt, due);
    });
    const { list } = (await this.#ask('ada', 'GET', `/runs?automation=${automation.id}&limit=100`)).json() as {
      readonly list: readonly { readonly id: string; readonly version: string }[];
    };
    const begun = list.filter(({ id }) => !id.includes('.') && !runs.some(({ given }) => given.id === id));
    assert.equal(begun.length, runsNow ? 0 : 1, 'a due automation begins one run, unless the last one goes on');
    for (const run of begun) this.#begin(automation, run, { by: who, as: 'scheduler' });
  }

  async #pause(who: Person, automation: ModelAutomation, nth: number): Promise<void> {
    if (!automation.repeats) return;
    if (!(await this.#accepts(who, 'PATCH', targetOf(automation), { nextRunAt: null }))) return;
    for (const next of [pick(everyone, nth * 3 + 1), 'ada'] as const) {
      if (next === undefined || !(await this.#accepts(next, 'PATCH', targetOf(automation), { nextRunAt: 'next' }))) continue;
      automation.resumer = next;
      this.#note(`resumed`);
      return;
    }
  }

  async #start(who: Person, automation: ModelAutomation): Promise<void> {
    const reply = await this.#ask(who, 'POST', `${targetOf(automation)}/run`, {});
    if (reply.status === 201) this.#begin(automation, reply.json() as BegunRun, { by: who, as: 'starter' });
  }

  async #rerun(who: Person, run: ModelRun | undefined): Promise<void> {
    if (run === undefined) return;
    const reply = await this.#ask(who, 'POST', `/runs/${run.given.id}/rerun`);
    if (reply.status !== 201) return;
    this.#note('rerun');
    this.#begin(run.given.automation, reply.json() as BegunRun, { by: who, as: 'starter', repeats: run });
  }

  #begin(
    automation: ModelAutomation,
    { id, version: name }: BegunRun,
    how: { by: Person; as: 'starter' | 'scheduler'; repeats?: ModelRun },
  ): void {
    const version = this.#world.versions.p.find((each) => each.version === name);
    assert.ok(version, `the run has the version ${name}`);
    this.#world.begin({ id, automation, version, ...how });
    this.#note(how.as);
  }

  async #send(who: Person, event: Event): Promise<void> {
    const source = `https://${this.#name}.example`;
    const sent = { specversion: '1.0', id: `${this.#next()}`, source, type: `${this.#name}.${event}` };
    if (await this.#accepts(who, 'POST', '/events', sent, 'application/cloudevents+json')) this.#world.publish(event, [who]);
  }

  async #decide(who: Person, run: ModelRun | undefined): Promise<void> {
    if (run === undefined) return;
    if (await this.#accepts(who, 'POST', `/runs/${run.given.id}/decide`, { task: '1', as: 'done', reason: 'Seen.' }))
      this.#world.decided(run, who);
  }

  async #cancel(who: Person, run: ModelRun | undefined): Promise<void> {
    if (run !== undefined && (await this.#accepts(who, 'POST', `/runs/${run.given.id}/cancel`))) run.end();
  }

  /** Tries to grant, and compares what the gateway says before, and does, with the model. */
  async #grant(who: Person, run: ModelRun, approval: ModelApproval): Promise<void> {
    const { id = '' } = approval;
    const expected = whyNot(run, approval, who);
    const sees = isApprover(who) || who === 'ada' || who === run.given.principal;
    if (sees)
      await soon(async () => {
        const seen = (await this.#ask(who, 'GET', `/approvals/${id}`)).json() as SeenApproval;
        assert.deepEqual(
          [seen.mayDecide, seen.whyNot?.code],
          [expected === undefined, expected],
          this.#words(who, run, approval),
        );
      });
    const { status, text } = await this.#ask(who, 'POST', `/approvals/${id}/grant`, { reason: 'x' });
    this.#note(`grant: ${expected ?? 'accepted'}`);
    const codes: Readonly<Record<string, readonly number[]>> = { over: [403, 409], decided: [200] };
    const allowed: readonly number[] = sees ? (expected === undefined ? [200] : (codes[expected] ?? [403])) : [404];
    assert.ok(allowed.includes(status), `${status} ${text}\n${this.#words(who, run, approval)}`);
    if (expected === undefined) this.#world.granted(run, approval, who);
  }

  async #reject(who: Person, run: ModelRun, approval: ModelApproval): Promise<void> {
    const isOpen = approval.status === 'waiting';
    const { status, text } = await this.#ask(who, 'POST', `/approvals/${approval.id}/reject`, { reason: 'x' });
    assert.equal(status === 200, isOpen && isApprover(who), text);
    if (status === 200) this.#world.rejected(run);
  }

  #approvals(
    statuses: readonly ModelApproval['status'][],
  ): readonly { readonly run: ModelRun; readonly approval: ModelApproval }[] {
    return this.#world.runs.flatMap((run) =>
      run.approvals.filter(({ status }) => statuses.includes(status)).map((approval) => ({ run, approval })),
    );
  }

  /** Waits until the gateway is where the model is, for each run that a command moved. */
  async #settle(): Promise<void> {
    for (const run of this.#world.runs) {
      const expected = JSON.stringify([
        statusOf(run),
        handsText(run.involved()),
        run.approvals.map(({ status, grants }) => [status, [...grants]]),
      ]);
      if (this.#settled.get(run) === expected) continue;
      await soon(() => compareRun(this.#stage, run));
      this.#settled.set(run, expected);
    }
  }

  /** Everybody tries to grant all that is left, those who may not first; then everything goes on to its end. */
  async #finish(): Promise<void> {
    for (let round = 0; round < 20 && this.#world.runs.some(({ hasEnded }) => !hasEnded); round += 1) {
      const open = this.#approvals(['waiting']);
      for (const { run, approval } of open) {
        const able = everyone.toSorted(
          (one, other) => Number(whyNot(run, approval, one) === undefined) - Number(whyNot(run, approval, other) === undefined),
        );
        for (const person of able) if (approval.status === 'waiting') await this.#grant(person, run, approval);
      }
      await this.#decide('ada', this.#world.runs.find(isUnsure));
      await this.#settle();
      // A run that takes `go` may send `on`. Until it has, the gateway and the model may see the two `on` in another order.
      for (const event of open.length === 0 ? (['go', 'on'] as const) : []) {
        await this.#send('ada', event);
        await this.#settle();
      }
    }
    for (const run of this.#world.runs)
      for (const approval of run.approvals) if (approval.status === 'over') await this.#grant('leo', run, approval);
    assert.ok(
      this.#world.runs.every(({ hasEnded }) => hasEnded),
      'every run has ended',
    );
  }

  /** A gated call arrived once where enough people granted it, and otherwise not at all. */
  #assertArrivals(): void {
    for (const { given, approvals } of this.#world.runs) {
      const arrived = this.#stage.far.requests.filter(
        ({ target }) => target.endsWith(`/${given.id}`) && !target.startsWith('/cut/'),
      );
      const granted = approvals.filter(({ kind, status }) => kind === 'act' && status === 'used');
      assert.deepEqual(
        arrived.map(({ target }) => target),
        granted.map(({ gate }) => pathOf(gate, given.id)),
      );
      for (const _ of granted) this.#note('left');
    }
  }

  async #accepts(...asked: Parameters<HistoryStage['send']>): Promise<boolean> {
    const { status } = await this.#ask(...asked);
    return status < 300;
  }

  async #ask(...asked: Parameters<HistoryStage['send']>): Promise<Reply> {
    const reply = await this.#stage.send(...asked);
    assert.ok(reply.status < 500, reply.text);
    if (asked[1] !== 'GET' && reply.status === 400) assert.fail(`${asked.slice(0, 3).join(' ')}: ${reply.text}`);
    return reply;
  }

  #words(who: Person, run: ModelRun, { gate, status }: ModelApproval): string {
    const hands = [...(run.involved().get(who) ?? [])].join(' ');
    return `${who} (${hands}) of run ${run.given.id} of ${run.given.principal}, ${JSON.stringify(gate)} ${status}`;
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }

  #note(what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
  }
}

interface BegunRun {
  readonly id: string;
  readonly version: string;
}

function targetOf({ id }: ModelAutomation): string {
  return `${catalogue}/automations/${id}`;
}

function pick<T>(all: readonly T[], nth: number): T | undefined {
  return all[nth % Math.max(1, all.length)];
}
