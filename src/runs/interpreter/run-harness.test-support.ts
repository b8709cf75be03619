import { loadJq } from 'jq-wasm';
import type { Evaluated, Evaluation } from '#workflows/jq/expression-pool.ts';
import { evaluationProgram, lineOf } from '#workflows/jq/jq-program.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { Argument, BatchEffect, CallEffect, ChildEffect, Effect, ListenEffect } from './effects.ts';
import { pending } from './pending.ts';
import type { Note, OutsideResult, RunEvent } from './state/run-events.ts';
import { type RunState, readState, writeState } from './state/run-state.ts';
import { begin, step } from './step.ts';
import type { TaskError } from './task-error.ts';

const jq = await loadJq();
const evaluated = new Map<string, Evaluated>();

/** Real jq. What was evaluated before is looked up, as expressions depend on their data alone. */
function evaluate({ expressions, dot, variables }: Evaluation): Evaluated {
  const names = Object.keys(variables);
  const members = names.map((name) => `${JSON.stringify(name)}:${variables[name]}`);
  const input = `{"dot":${dot},"variables":{${members.join(',')}}}`;
  const program = evaluationProgram(expressions, names);
  const key = `${program}\n${input}`;
  const outcome = evaluated.get(key) ?? outcomeOf(jq.raw(input, program, ['-c']), expressions.length);
  evaluated.set(key, outcome);
  return outcome;
}

function outcomeOf({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }, expected: number): Evaluated {
  const lines = stdout.split('\n');
  const ends = Array.from({ length: expected }, (_end, index) => lines[2 * index]);
  const failed = ends.findIndex((end) => end !== lineOf.result);
  if (failed !== -1) return { failed, detail: stderr === '' ? (lines[2 * failed + 1] ?? '') : stderr };
  return { results: ends.map((_end, index) => lines[2 * index + 1] ?? '') };
}

/** An event that comes when a `listen` waits for one: a CloudEvent. */
export type CloudEventText = Readonly<Record<string, unknown>>;

export interface World {
  readonly input?: unknown;
  /** How a call or the run of another workflow ends. Undefined: not yet. Default: `{"ok":true}`. */
  readonly calls?: (effect: BatchEffect | CallEffect | ChildEffect, args: unknown) => OutsideResult | undefined;
  readonly events?: readonly CloudEventText[];
  readonly validate?: (schema: string, value: string) => readonly string[];
  readonly fetch?: (endpoint: unknown) => string;
  /** Writes and reads the state between any two steps. */
  readonly crashes?: boolean;
  /** Is asked before each step for an event of its own. */
  readonly interfere?: (run: TestRun) => RunEvent | undefined;
  readonly maxSteps?: number;
  /** Which effect ends next: each number, by turns, is counted around the effects. Default: the first. */
  readonly order?: readonly number[];
}

export const start = Date.parse('2026-01-31T12:00:00Z');

/** A run in a world that answers each effect by its script. */
export class TestRun {
  readonly workflow: Workflow;
  readonly world: World;
  state: RunState;
  notes: Note[] = [];
  now = start;
  steps = 0;

  constructor(workflow: Workflow, world: World = {}) {
    this.workflow = workflow;
    this.world = world;
    const input = JSON.stringify(world.input ?? {});
    this.state = begin({ id: 'run-1', seed: 'seed', input, at: start, runtime: { name: 'gateway', version: '1' } });
  }

  get effects(): readonly Effect[] {
    return pending(this.workflow, this.state);
  }

  /** Parsed, for comparisons. */
  get output(): unknown {
    return this.state.output === undefined ? undefined : JSON.parse(this.state.output.text);
  }

  get error(): TaskError | undefined {
    return this.state.error;
  }

  send(event: RunEvent): void {
    const { state, notes } = step(this.workflow, this.state, event);
    this.state = this.world.crashes === true ? crashed(state) : state;
    this.notes.push(...notes);
    this.steps += 1;
  }

  /** Goes on until the run ends, or waits for what the world does not give. */
  go(): this {
    const most = this.world.maxSteps ?? 5_000;
    for (let count = 0; count < most; count += 1) {
      const event = this.world.interfere?.(this) ?? this.#next();
      if (event === undefined) return this;
      this.send(event);
    }
    throw new Error(`The run goes on after ${most} steps.`);
  }

  #next(): RunEvent | undefined {
    const { effects } = this;
    const { order = [0] } = this.world;
    const first = (order[this.steps % order.length] ?? 0) % Math.max(1, effects.length);
    for (const effect of [...effects.slice(first), ...effects.slice(0, first)]) {
      const event = effect.kind === 'timer' ? undefined : this.answer(effect);
      if (event !== undefined) return event;
    }
    const timer = effects.find((effect) => effect.kind === 'timer');
    if (timer === undefined) return undefined;
    this.now = Math.max(this.now, timer.at);
    return { kind: 'timePassed', at: this.now };
  }

  answer(effect: Exclude<Effect, { readonly kind: 'timer' }>): RunEvent | undefined {
    const { now: at } = this;
    const { key } = effect;
    switch (effect.kind) {
      case 'evaluate':
        return { kind: 'evaluated', at, key, outcome: evaluate(effect) };
      case 'validate':
        return { kind: 'validated', at, key, problems: this.#problems(effect.schema.document, effect.value) };
      case 'fetch':
        return { kind: 'fetched', at, key, document: this.#fetched(effect.endpoint) };
      case 'call':
        return this.#outside(effect, this.#argument(effect.with), 'callEnded');
      case 'child':
        return this.#outside(effect, JSON.parse(effect.input), 'childEnded');
      case 'batch':
        if (effect.items !== undefined && !effect.abort) return { kind: 'batchBegun', at, key };
        return this.#outside(effect, {}, 'childEnded');
      case 'publish':
        return { kind: 'published', at, key };
      default:
        return this.#event(effect);
    }
  }

  #problems(schema: string, value: string): readonly string[] {
    return this.world.validate?.(schema, value) ?? [];
  }

  #fetched(endpoint: Argument): string {
    return this.world.fetch?.(this.#argument(endpoint)) ?? '{}';
  }

  #outside(
    effect: BatchEffect | CallEffect | ChildEffect,
    args: unknown,
    kind: 'callEnded' | 'childEnded',
  ): RunEvent | undefined {
    const { calls = () => ({ kind: 'ok', output: '{"ok":true}' }) as const } = this.world;
    const result = calls(effect, args);
    return result === undefined
      ? undefined
      : { kind, at: this.now, key: effect.key, result, requestId: `request-${effect.activity}` };
  }

  #argument(argument: Argument): unknown {
    if ('value' in argument) return JSON.parse(argument.value);
    const { evaluation } = argument;
    const outcome = evaluate(evaluation);
    if ('failed' in outcome) throw new Error(outcome.detail);
    return JSON.parse(outcome.results[0] ?? 'null');
  }

  #event({ key, after = 0, match }: ListenEffect): RunEvent | undefined {
    const events = this.world.events ?? [];
    for (let position = after + 1; position <= events.length; position += 1) {
      const outcome = evaluate({ ...match, dot: JSON.stringify(events[position - 1]) });
      if ('failed' in outcome) throw new Error(outcome.detail);
      const [text = 'null'] = outcome.results;
      if (text !== 'null') return { kind: 'eventArrived', at: this.now, key, match: text, position };
    }
    return undefined;
  }

  /** `kind name` of each note about a task, in order. */
  get timeline(): readonly string[] {
    return this.notes.flatMap((note) => (note.of === 'task' ? [`${note.kind} ${note.name}`] : []));
  }

  get runNotes(): readonly string[] {
    return this.notes.flatMap((note) => (note.of === 'run' ? [note.kind] : []));
  }
}

export function crashed(state: RunState): RunState {
  const { text, values } = writeState(state);
  return readState(text, values);
}

/** Performs a workflow to its end. */
export function performed(workflow: Workflow, world: World = {}): TestRun {
  return new TestRun(workflow, world).go();
}

export function ok(output: unknown): OutsideResult {
  return { kind: 'ok', output: JSON.stringify(output) };
}

export function failure(status: number, name = 'communication'): OutsideResult {
  return {
    kind: 'error',
    error: { type: `https://serverlessworkflow.io/spec/1.0.0/errors/${name}`, status, title: 'It failed' },
  };
}

export const unknown: OutsideResult = { kind: 'unknown', detail: 'the connection broke' };
