import { visible } from '#base/text/visible.ts';
import { fitted } from './display-width.ts';

export type Fact = readonly [name: string, text: string | undefined];

/** A line for each fact that has a text, with the texts in one column. `width`: columns of the terminal, in which the lines are fitted. */
export function factLines(facts: readonly Fact[], width?: number): readonly string[] {
  return facts.flatMap(([name, text]) => {
    if (text === undefined || text === '') return [];
    const line = `${name.padEnd(11)} ${visible(text)}`;
    return [width === undefined ? line : fitted(line, width)];
  });
}

/** A time without its milliseconds. */
export function shortTime(time: string): string {
  return time.replace(/\.\d+Z$/u, 'Z');
}
