import { randomUUID } from 'node:crypto';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { ClaimedRun, NewEvent, NewRun, RunRelease, RunWrite, TaskRecord } from './run-records.ts';

export function newRun(given: Partial<NewRun> = {}): NewRun {
  return {
    id: randomUUID(),
    automation: undefined,
    workflow: 'tests.one',
    version: '1.0.0',
    input: '{"a":1}',
    seed: 'seed',
    principal: { id: 'ada', username: 'ada', roles: ['admin'], groups: [] },
    workflowDigest: undefined,
    pins: undefined,
    above: [],
    authors: undefined,
    involved: [{ id: 'ada', username: 'ada', as: ['starter'] }],
    startedBy: { principal: 'ada' },
    parent: undefined,
    ...given,
  };
}

/** A step that changes nothing but what is given. */
export function stepOf({ id, fence }: Pick<ClaimedRun, 'id' | 'fence'>, given: Partial<RunWrite> = {}): RunWrite {
  return {
    run: id,
    fence,
    state: { text: '{}', values: new Map() },
    status: 'running',
    startedAt: 1,
    endedAt: undefined,
    output: undefined,
    error: undefined,
    tasks: [],
    events: [],
    people: [],
    consumed: [],
    children: [],
    commands: [],
    release: undefined,
    ...given,
  };
}

export const ending: Partial<RunWrite> = { state: undefined, status: 'completed', endedAt: 2, output: '"done"' };

export function released(given: Partial<RunRelease> = {}): Pick<RunWrite, 'release'> {
  return { release: { wakeAt: undefined, scanned: undefined, ...given } };
}

export function eventNamed(id: string, kind: NewEvent['kind'] = 'message', at = 1): NewEvent {
  return { at, kind, event: JSON.stringify({ specversion: '1.0', source: '/tests', type: 'test', id }) };
}

/** A clock whose time passes by calls alone. */
export function createStoppedClock(start = 1_000_000): Clock & { pass(milliseconds: number): void } {
  let time = start;
  return {
    now: () => time,
    monotonic: () => time,
    pass(milliseconds) {
      time += milliseconds;
    },
  };
}

export const seesNothing = (): RawBuilder<SqlBool> => sql<SqlBool>`1 = 0`;

export function taskAt(activity: number, status: TaskRecord['status']): TaskRecord {
  const none = { iteration: undefined, end: undefined, requestId: undefined, error: undefined };
  return { activity, reference: `/do/${activity}`, name: 'a', attempt: 1, status, begin: 1, ...none };
}
