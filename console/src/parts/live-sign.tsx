import type { JSX } from 'preact';
import type { Liveness } from '../live.ts';

const words: Readonly<Record<Liveness, string>> = {
  connecting: 'Connecting to the events…',
  live: 'Live',
  away: 'The connection broke. The console takes it up again, and misses nothing.',
  asking: 'Asks every few seconds: newer windows of this browser have the event streams.',
  ended: '',
};

/** Whether the page is kept up to date. */
export function LiveSign({ of }: { readonly of: Liveness }): JSX.Element {
  return (
    <p class={`sign ${of}`} role="status">
      {words[of]}
    </p>
  );
}
