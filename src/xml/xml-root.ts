import { SaxesParser } from 'saxes';

const sliceLength = 1024;

class Finished extends Error {}

/**
 * The name of the root element, prefix included as written, from the first part of a document. Undefined where the text
 * breaks XML before it or ends without having reached it.
 */
export function xmlRootName(text: string): string | undefined {
  const parser = new SaxesParser();
  let root: string | undefined;
  parser.on('opentagstart', ({ name }) => {
    root = name;
    throw new Finished();
  });
  try {
    // In slices, for nothing beyond the first tag needs reading.
    for (let i = 0; i < text.length; i += sliceLength) parser.write(text.slice(i, i + sliceLength));
  } catch {
    // Finished, or no XML.
  }
  return root;
}
