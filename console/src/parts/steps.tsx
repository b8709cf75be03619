import type { JSX } from 'preact';
import type { Step } from '../steps.ts';
import { Empty } from './basics.tsx';

/** The tasks of a workflow in their order, each with those inside it. */
export function Steps({ of }: { readonly of: readonly Step[] }): JSX.Element {
  if (of.length === 0) return <Empty>No task.</Empty>;
  return (
    <ol class="drawn">
      {of.map(({ name, kind, words, parts, next }, at) => (
        <li key={`${at}${name}`}>
          <div class="step">
            <strong>{name}</strong> <span class="kind">{kind}</span> <span class="soft">{words}</span>
            {next !== undefined && <span class="soft"> then → {next}</span>}
          </div>
          {parts.map(([title, steps]) => (
            <div key={title} class="part">
              {title !== '' && <div class="soft">{title}</div>}
              <Steps of={steps} />
            </div>
          ))}
        </li>
      ))}
    </ol>
  );
}
