import type { JSX } from 'preact';

type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

/** A sign next to the word, so that the colour never carries the meaning alone. */
const kinds: Readonly<Record<string, readonly [Tone, string]>> = {
  completed: ['good', '✓'],
  ok: ['good', '✓'],
  online: ['good', '✓'],
  granted: ['good', '✓'],
  done: ['good', '✓'],
  again: ['busy', '▸'],
  resumed: ['busy', '▸'],
  delivered: ['good', '✓'],
  used: ['calm', '✓'],
  closed: ['calm', '–'],
  allowed: ['good', '✓'],
  faulted: ['bad', '✕'],
  failed: ['bad', '✕'],
  offline: ['bad', '✕'],
  rejected: ['bad', '✕'],
  denied: ['bad', '✕'],
  open: ['bad', '✕'],
  suspended: ['warn', '!'],
  unknown: ['warn', '?'],
  degraded: ['warn', '!'],
  pending: ['busy', '…'],
  refused: ['warn', '!'],
  running: ['busy', '▸'],
  waiting: ['busy', '…'],
  expired: ['calm', '○'],
  cancelled: ['calm', '○'],
  skipped: ['calm', '○'],
  dropped: ['calm', '○'],
  notStarted: ['calm', '○'],
  paused: ['warn', '‖'],
};

/** Every state that has a sign. */
export const statuses: readonly string[] = Object.keys(kinds);

/** The colour and the sign of a state. */
export function signOf(state: string): readonly [tone: Tone, sign: string] {
  return kinds[state] ?? ['calm', '·'];
}

/** A state as a word with a sign. */
export function Status({ of, label }: { readonly of: string; readonly label?: string }): JSX.Element {
  const [tone, sign] = signOf(of);
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{sign}</span>
      {label ?? of}
    </span>
  );
}
