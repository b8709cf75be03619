import { SaxesParser } from 'saxes';

/** What a text turned out to be: a document with its root element's name as written, or why it is none. */
type XmlReading = { readonly root: string } | { readonly problem: string };

// As for JSON. Looking up a prefix walks outwards, so that the work grows with the square of the nesting.
const maxDepth = 128;

class NotAcceptable extends Error {}

/**
 * Reads a whole document: well-formed by XML 1.0 and Namespaces in XML, one root, nested at most 128 deep, no DOCTYPE
 * (and so no entities but the five of XML itself), in UTF-8 as far as it says.
 */
export function readXml(text: string): XmlReading {
  if (!text.isWellFormed()) return { problem: 'it holds half of a surrogate pair' };
  const parser = new SaxesParser({ xmlns: true, position: true });
  let root: string | undefined;
  let depth = 0;
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !/^(utf-8|us-ascii)$/iu.test(encoding)) {
      throw new NotAcceptable(`it declares the encoding ${encoding}, but is sent in UTF-8`);
    }
  });
  parser.on('doctype', () => {
    throw new NotAcceptable('a DOCTYPE is not accepted');
  });
  parser.on('opentagstart', ({ name }) => {
    root ??= name;
    depth++;
    if (depth > maxDepth) throw new NotAcceptable(`it is nested deeper than ${maxDepth} elements`);
  });
  parser.on('closetag', () => {
    depth--;
  });
  parser.on('error', (error) => {
    throw new NotAcceptable(`it is not well-formed: ${error.message.replace(/\.$/u, '')}`);
  });
  try {
    parser.write(text).close();
  } catch (error) {
    if (error instanceof NotAcceptable) return { problem: error.message };
    throw error;
  }
  return root === undefined ? { problem: 'it has no element' } : { root };
}
