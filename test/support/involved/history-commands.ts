import type { Gate, Person, Program } from './hand-model.ts';

export const shapes = ['act', 'ask', 'listen', 'late', 'side', 'unsure', 'settle', 'emit', 'relay', 'child'] as const;

const kinds = [
  'store',
  'create',
  'edit',
  'schedule',
  'pause',
  'form',
  'import',
  'take',
  'start',
  'event',
  'decide',
  'rerun',
  'cancel',
  'grant',
  'reject',
] as const;

/** A person tries something. `nth` picks among what there is. */
export interface Command {
  readonly kind: (typeof kinds)[number];
  readonly who: Person;
  readonly nth: number;
  readonly shape: (typeof shapes)[number];
  readonly gate: Gate;
}

/** A document of this shape. `inner`: the version that it runs, if it does. */
export function programOf(shape: Command['shape'], gate: Gate, inner: string): Program {
  const act = { kind: 'act', gate } as const;
  const listen = { kind: 'listen', event: 'go' } as const;
  const emit = { kind: 'emit', event: 'on' } as const;
  switch (shape) {
    case 'ask':
      return [[{ kind: 'ask', gate }, act]];
    case 'side':
      return [[listen], [act]];
    case 'listen':
      return [[listen, act]];
    case 'late':
      return [[{ kind: 'listen', event: 'on' }, act]];
    case 'emit':
      return [[emit, act]];
    case 'relay':
      return [[listen, emit, act]];
    case 'settle':
      return [[{ kind: 'unsure' }, emit, act]];
    case 'unsure':
      return [[{ kind: 'unsure' }, act]];
    case 'child':
      return [[{ kind: 'child', version: inner }, act]];
    default:
      return [[act]];
  }
}
