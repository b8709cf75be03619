import { cutText, longestText } from '#base/cut-text.ts';
import { lineOf, linesOfResult } from './jq-program.ts';

/** Bytes of the result of one expression: as much as a run may hold. */
const longestResult = 8 * 1024 ** 2;

export const resultTooLong = `the result has more than ${longestResult / 1024 ** 2} MiB`;

/**
 * The output of a program without lines that are longer than the gateway takes. A result that is too long becomes an error that says so, and the
 * text of an error is cut. The thread of jq does this, so no long line reaches the event loop.
 */
export function withinLimits(stdout: string): string {
  if (stdout.length * 3 <= longestText) return stdout;
  const lines = stdout.split('\n');
  for (let index = 0; index + 1 < lines.length; index += linesOfResult) {
    const [kind, value = ''] = [lines[index], lines[index + 1]];
    if (kind === lineOf.raised) lines[index + 1] = cutError(value);
    else if (value.length * 3 > longestResult && Buffer.byteLength(value) > longestResult)
      lines.splice(index, linesOfResult, lineOf.raised, JSON.stringify(resultTooLong));
  }
  return lines.join('\n');
}

/** Any value can be an error, and its text is JSON then. */
function cutError(value: string): string {
  if (value.length * 3 <= longestText) return value;
  const error: unknown = JSON.parse(value);
  return JSON.stringify(cutText(typeof error === 'string' ? error : `the expression raised ${value}`));
}
