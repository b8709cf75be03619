import type { JSX } from 'preact';
import { goTo } from '../address.ts';
import { timeText, zonedText } from '../texts.ts';
import { Table } from './basics.tsx';

type ChartTone = 'good' | 'bad' | 'warn' | 'busy' | 'calm';

interface ChartStep {
  /** When the step begins. */
  readonly at: string;
  /** One number for each series, from the bottom up. */
  readonly counts: readonly number[];
  /** Of the line; undefined where there is none. */
  readonly level?: number | undefined;
  /** The page with what the step counts. */
  readonly href?: string;
}

interface ChartProps {
  readonly label: string;
  readonly series: readonly (readonly [title: string, tone: ChartTone])[];
  readonly steps: readonly ChartStep[];
  /** A line over the bars, with a scale of its own. */
  readonly line?: { readonly title: string; readonly text: (level: number) => string };
}

/** Bars of counts over time, one on the other; the same numbers are in a table for everyone who does not see or point. */
export function Chart({ label, series, steps, line }: ChartProps): JSX.Element {
  const most = Math.max(1, ...steps.map(({ counts }) => sum(counts)));
  const highest = Math.max(0, ...steps.map(({ level = 0 }) => level));
  return (
    <figure class="chart-box" aria-label={label}>
      <figcaption>
        {series.map(([title, tone], at) => (
          <span key={title} class="legend">
            <span class={`swatch ${tone}`} /> {title} <strong>{sum(steps.map(({ counts }) => counts[at] ?? 0))}</strong>
          </span>
        ))}
        {line !== undefined && highest > 0 && (
          <span class="legend">
            <span class="swatch line" /> {line.title}, up to <strong>{line.text(highest)}</strong>
          </span>
        )}
      </figcaption>
      <div class="plot">
        <span class="scale">{most}</span>
        <svg class="chart" viewBox={`0 0 ${steps.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          {steps.map((step, at) => (
            <Bar key={step.at} step={step} at={at} most={most} tip={tipOf(step, series, line)} series={series} />
          ))}
          {line !== undefined && highest > 0 && <path class="line" d={lineOf(steps, highest)} />}
        </svg>
      </div>
      <div class="axis" aria-hidden="true">
        {[0, Math.floor(steps.length / 2), steps.length - 1].map((at) => (
          <span key={at}>{timeText(steps[at]?.at ?? '').slice(5, 16)}</span>
        ))}
      </div>
      <details>
        <summary>As a table</summary>
        <Table
          isGrid
          label={label}
          columns={['From', ...series.map(([title]) => title), ...(line === undefined ? [] : [line.title])]}
        >
          {steps.map((step) => (
            <tr key={step.at}>
              <td class="fixed">{step.href === undefined ? timeText(step.at) : <a href={step.href}>{timeText(step.at)}</a>}</td>
              {series.map(([title], at) => (
                <td key={title} class="fixed">
                  {step.counts[at] ?? 0}
                </td>
              ))}
              {line !== undefined && <td class="fixed">{step.level === undefined ? '–' : line.text(step.level)}</td>}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}

interface BarProps {
  readonly step: ChartStep;
  readonly at: number;
  readonly most: number;
  readonly tip: string;
  readonly series: ChartProps['series'];
}

function Bar({ step: { counts, href }, at, most, tip, series }: BarProps): JSX.Element {
  let top = 100;
  return (
    <g data-tip={tip} class={href === undefined ? 'step' : 'step linked'} onClick={() => href !== undefined && goTo(href)}>
      <rect class="ground" x={at} y={0} width={1} height={100} />
      {counts.map((count, of) => {
        const height = (count / most) * 96;
        top -= height;
        return count === 0 ? null : (
          <rect key={series[of]?.[0]} class={series[of]?.[1]} x={at + 0.12} y={top} width={0.76} height={height} />
        );
      })}
    </g>
  );
}

function tipOf({ at, counts, level }: ChartStep, series: ChartProps['series'], line: ChartProps['line']): string {
  const parts = counts.flatMap((count, of) => (count === 0 ? [] : [`${count} ${series[of]?.[0]}`]));
  const levels = level === undefined || line === undefined ? [] : [`${line.title} ${line.text(level)}`];
  return `${zonedText(at)}: ${[...(parts.length === 0 ? ['none'] : parts), ...levels].join(', ')}`;
}

function lineOf(steps: readonly ChartStep[], highest: number): string {
  let isDrawn = false;
  return steps
    .map(({ level }, at) => {
      const command = isDrawn ? 'L' : 'M';
      isDrawn = level !== undefined;
      if (level === undefined) return '';
      const y = 98 - (level / highest) * 94;
      // A point alone is a short line.
      return `${command}${at + 0.3} ${y}L${at + 0.7} ${y}`;
    })
    .join('');
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
