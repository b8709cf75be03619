import { SaxesParser } from 'saxes';
import { type UpstreamErrorText, upstreamErrorText } from '#json/json-errors.ts';

class ErrorComplete extends Error {}

/** `errors/error/error-tag` and `error-message` in any namespace (RESTCONF, legacy NSO). What comes before a syntax error counts, as the text may be cut. Never throws. */
export function readXmlErrors(text: string): UpstreamErrorText | undefined {
  const found = new Map<string, string>();
  const path: string[] = [];
  const parser = new SaxesParser();
  const onText = (part: string): void => {
    const name = path[2];
    if (path.length === 3 && name !== undefined && path[0] === 'errors' && path[1] === 'error') {
      found.set(name, (found.get(name) ?? '') + part);
    }
  };
  parser.on('opentagstart', ({ name }) => {
    path.push(name.slice(name.indexOf(':') + 1));
  });
  parser.on('closetag', () => {
    path.pop();
    if (path.length === 1) throw new ErrorComplete();
  });
  parser.on('text', onText);
  parser.on('cdata', onText);
  try {
    parser.write(text).close();
  } catch {
    // ErrorComplete, or a syntax error.
  }
  return upstreamErrorText(found.get('error-tag')?.trim(), found.get('error-message')?.trim());
}
