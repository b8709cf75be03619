import { SaxesParser } from 'saxes';
import { type FarSideErrorText, farSideErrorText } from '#json/json-errors.ts';

class Finished extends Error {}

/**
 * The first error of an error body in XML, RESTCONF's or NSO's legacy one: `errors/error/error-tag` and `error-message`, in
 * any namespace. What stands before a fault counts, for the text may be cut. Undefined for anything else; never throws.
 */
export function readXmlErrors(text: string): FarSideErrorText | undefined {
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
    if (path.length === 1) throw new Finished();
  });
  parser.on('text', onText);
  parser.on('cdata', onText);
  try {
    parser.write(text).close();
  } catch {
    // Finished, or not well-formed from here on.
  }
  return farSideErrorText(found.get('error-tag')?.trim(), found.get('error-message')?.trim());
}
