import { SaxesParser } from 'saxes';

/** The name of the root element as written, or why the text is not acceptable. */
type XmlReading = { readonly root: string } | { readonly problem: string };

// As for JSON. A prefix is looked up through all outer elements, so the work grows with the square of the depth.
const maxDepth = 128;

class NotAcceptable extends Error {}

/**
 * Checks a complete document: well-formed by XML 1.0 and Namespaces in XML, with one root, and nested at most 128 deep. A DOCTYPE
 * is refused, so the only entities are the five of XML. A declared encoding must be UTF-8 or US-ASCII.
 */
export function readXml(text: string): XmlReading {
  if (!text.isWellFormed()) return { problem: 'it contains a lone surrogate' };
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
