import { readFileSync } from 'node:fs';

/** Loaded by a gateway before its own code: its `Date` is ahead by the milliseconds that the file at CLOCK_STEP_FILE has. */
const file = process.env['CLOCK_STEP_FILE'];
const SystemDate = Date;
let offset = 0;
let readAt = -Infinity;

function stepped(): number {
  const at = performance.now();
  if (file !== undefined && at - readAt >= 10) {
    readAt = at;
    offset = offsetIn(file);
  }
  return SystemDate.now() + offset;
}

function offsetIn(name: string): number {
  try {
    return Number(readFileSync(name, 'utf8'));
  } catch {
    // The test has ended, and removed it.
    return offset;
  }
}

globalThis.Date = new Proxy(SystemDate, {
  construct: (target, args: readonly unknown[], made) =>
    Reflect.construct(target, args.length === 0 ? [stepped()] : args, made) as Date,
  get: (target, name) => (name === 'now' ? stepped : (Reflect.get(target, name) as unknown)),
});
