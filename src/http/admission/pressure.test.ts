import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { totalmem } from 'node:os';
import { describe, type TestContext, test } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { lapse } from '../../../test/support/lapse.ts';
import { createPressure, createPressureGauge, type Measurement, type Pressure, type PressureGauge } from './pressure.ts';

const limits: Measurement = { eventLoopDelay: 250, residentMemory: 1_000, heap: 100 };
/** Exactly at the limits. */
const calm = limits;

interface Measured {
  readonly pressure: Pressure;
  readonly logged: readonly string[];
  /** Resolves once `pressure` has compared this measurement with the limits. */
  readonly is: (measured: Measurement) => Promise<void>;
}

/** A pressure whose measurements the test chooses. */
function measured(t: TestContext): Measured {
  const logged: string[] = [];
  const take = (message: string, fields: { readonly reason?: string } = {}): void =>
    void logged.push([message, fields.reason ?? []].flat().join(': '));
  const log: Log = { error: take, warn: take, info: take, always: take, debug() {} };
  let now = calm;
  const taken = new EventEmitter();
  const gauge: PressureGauge = {
    limits,
    measure() {
      taken.emit('measured');
      return now;
    },
    close: () => undefined,
  };
  const pressure = createPressure({ gauge, log, interval: 1 });
  t.after(() => pressure.close());
  return {
    pressure,
    logged,
    async is(next) {
      now = next;
      // The second measurement begins after the first was compared.
      await once(taken, 'measured');
      await once(taken, 'measured');
    },
  };
}

function refusal(pressure: Pressure): GatewayError {
  let thrown: unknown;
  assert.throws(
    () => pressure.refuse(),
    (error) => {
      thrown = error;
      return true;
    },
  );
  assert.ok(thrown instanceof GatewayError);
  return thrown;
}

/** Iterations of the event loop that take 400 ms each. */
async function block(iterations: number): Promise<void> {
  for (let iteration = 0; iteration < iterations; iteration += 1) {
    // Blocks the thread without using the processor, which other tests need.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    const ended = Promise.withResolvers<void>();
    setImmediate(() => ended.resolve());
    await ended.promise;
  }
}

describe('the pressure', () => {
  for (const [what, over, words] of [
    ['the event loop is behind', { ...calm, eventLoopDelay: 250.1 }, /event loop is behind/u],
    ['memory is nearly used up', { ...calm, residentMemory: 1_001 }, /nearly all memory/u],
    ['the heap is nearly full', { ...calm, heap: 101 }, /heap is nearly full/u],
  ] as const) {
    test(`refuses with 503 and Retry-After while ${what}, and not after that`, async (t) => {
      const { pressure, is, logged } = measured(t);
      await is(calm);
      assert.equal(pressure.overloaded, false);
      pressure.refuse();
      await is(over);
      assert.equal(pressure.overloaded, true);
      const { code, status, headers, message } = refusal(pressure);
      assert.deepEqual({ code, status, headers }, { code: 'overloaded', status: 503, headers: { 'Retry-After': '1' } });
      assert.match(message, words);
      await is(over);
      await is(calm);
      pressure.refuse();
      assert.equal(logged.length, 2, 'once when it begins, once when it ends');
      assert.match(logged[0] ?? '', words);
    });
  }
});

describe('the gauge', () => {
  const memory = { memoryUsage: { rss: () => 77 }, constrainedMemory: () => 0 };

  test('takes its limits from the machine, or from the container where that allows less', () => {
    const limitsOf = (constrained: number): Measurement => {
      const gauge = createPressureGauge({ ...memory, constrainedMemory: () => constrained });
      gauge.close();
      return gauge.limits;
    };
    const whole = totalmem() * 0.85;
    assert.equal(limitsOf(0).residentMemory, whole);
    assert.equal(limitsOf(2 ** 62).residentMemory, whole);
    assert.equal(limitsOf(1_000_000).residentMemory, 850_000);
    assert.equal(limitsOf(0).heap, getHeapStatistics().heap_size_limit * 0.9);
    assert.equal(limitsOf(0).eventLoopDelay, 250);
  });

  test('measures the delay of an event loop that several iterations block', async (t) => {
    const gauge = createPressureGauge(memory);
    t.after(() => gauge.close());
    await lapse(50, 'the event loop has an iteration without delay');
    gauge.measure();
    await block(4);
    const one = gauge.measure();
    await block(4);
    const { eventLoopDelay, residentMemory, heap } = gauge.measure();
    assert.ok(!(one.eventLoopDelay > 250), 'a pause of the machine, or one long iteration, is no overload');
    assert.ok(eventLoopDelay > 250, `${eventLoopDelay} ms`);
    assert.equal(residentMemory, 77);
    assert.ok(heap > 0 && heap < gauge.limits.heap);
  });

  test('keeps the last value of the memory where the process has no file descriptor left to read it', () => {
    let files = 1;
    const rss = (): number => {
      files -= 1;
      if (files < 0) throw new Error('EMFILE: too many open files, uv_resident_set_memory');
      return 77;
    };
    const gauge = createPressureGauge({ ...memory, memoryUsage: { rss } });
    gauge.close();
    assert.deepEqual([gauge.measure().residentMemory, gauge.measure().residentMemory], [77, 77]);
  });

  test('measures no delay where the event loop had no iteration', () => {
    const gauge = createPressureGauge(memory);
    gauge.close();
    gauge.measure();
    assert.ok(!(gauge.measure().eventLoopDelay > 0));
  });
});
