import type { JSX } from 'preact';
import type { LastRun } from '#client/gateway.ts';
import { hrefOf } from '../address.ts';
import { zonedText } from '../texts.ts';
import { signOf } from './status.tsx';

/** The newest runs of something as marks, the oldest first. Each leads to its run, and shows its state by a sign and a colour. */
export function Outcomes({ of }: { readonly of: readonly LastRun[] }): JSX.Element {
  if (of.length === 0) return <span class="none">never ran</span>;
  return (
    <span class="outcomes">
      {of.toReversed().map(({ id, status, endedAt }) => {
        const [tone, sign] = signOf(status);
        const words = endedAt === undefined ? status : `${status}, ${zonedText(endedAt)}`;
        return (
          <a key={id} class={`mark-of ${tone}`} href={hrefOf(['runs', id])} data-tip={words} aria-label={words}>
            <span aria-hidden="true">{sign}</span>
          </a>
        );
      })}
    </span>
  );
}
