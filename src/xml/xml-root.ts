import { SaxesParser } from 'saxes';

const sliceLength = 1024;

class RootFound extends Error {}

/**
 * The name of the root element as written, with its prefix, from the first part of a document. Undefined if the text is not XML
 * up to there, or ends before it.
 */
export function xmlRootName(text: string): string | undefined {
  const parser = new SaxesParser();
  let root: string | undefined;
  parser.on('opentagstart', ({ name }) => {
    root = name;
    throw new RootFound();
  });
  try {
    // In slices, because nothing after the first tag has to be parsed.
    for (let i = 0; i < text.length; i += sliceLength) parser.write(text.slice(i, i + sliceLength));
  } catch {
    // RootFound, or not XML.
  }
  return root;
}
