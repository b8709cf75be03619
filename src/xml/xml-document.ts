import { SaxesParser } from 'saxes';

/** `root`: as written. */
type XmlReading = { readonly root: string } | { readonly problem: string };

// Prefixes are looked up through all outer elements: work grows with the square.
const maxDepth = 128;

class NotAcceptable extends Error {}

/** Well-formed by XML 1.0 and Namespaces, one root, 128 deep, UTF-8 or US-ASCII. No DOCTYPE, so no entities but the five of XML. */
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

const sliceLength = 1024;

class RootFound extends Error {}

/** As written, of the first part of a document. Undefined for other text. */
export function xmlRootName(text: string): string | undefined {
  const parser = new SaxesParser();
  let root: string | undefined;
  parser.on('opentagstart', ({ name }) => {
    root = name;
    throw new RootFound();
  });
  try {
    // Nothing after the first tag is parsed.
    for (let i = 0; i < text.length; i += sliceLength) parser.write(text.slice(i, i + sliceLength));
  } catch {
    // RootFound, or not XML.
  }
  return root;
}
