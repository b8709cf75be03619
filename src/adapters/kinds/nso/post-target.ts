import { isUtf8 } from 'node:buffer';
import type { ChangeCall } from '#adapters/dry-runs.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, readJsonTree } from '#json/json-tree.ts';
import { readXml } from '#xml/xml-document.ts';
import { localName } from './json-members.ts';

/** Bytes of a body that is parsed for a preview. */
export const longestParsed = 1024 ** 2;

/** An identifier of YANG (RFC 7950, 6.2), and the module in front of it. */
const identifier = String.raw`(?:[a-z_][\w.\-]*:)?[a-z_][\w.\-]*`;
const resourceName = new RegExp(`^${identifier}$`, 'iu');
const listEntry = new RegExp(`^${identifier}=`, 'iu');

/** What a POST goes to, after percent decoding: the local name of its last segment, or undefined where a server may read it otherwise. */
export function nameOfTarget(resource: string): { readonly name: string; readonly isEntry: boolean } | undefined {
  const segments = resource.replace(/^\//u, '').split('/').map(decoded);
  const isPlain = segments.every((segment) => segment !== undefined && (resourceName.test(segment) || listEntry.test(segment)));
  const last = segments.at(-1);
  if (!isPlain || last === undefined) return undefined;
  const isEntry = listEntry.test(last);
  return { name: localName(isEntry ? last.slice(0, last.indexOf('=')) : last), isEntry };
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Why the body of a POST names no configuration child. The body of an action is `input`, or none. */
export function whyNoChild({ body, contentType }: Pick<ChangeCall, 'body' | 'contentType'>): string | undefined {
  if (body === undefined) return 'it has no body, so it may be an action';
  if (body.length > longestParsed) return `its body is longer than ${longestParsed} bytes`;
  const name = childOf(body, contentType);
  if (name === undefined || !resourceName.test(name))
    return 'its body names no single configuration child, so it may be an action';
  return localName(name).toLowerCase() === 'input' ? 'its body is the input of an action' : undefined;
}

/** The one member of the body, or its root element. */
function childOf(body: Buffer, contentType: string): string | undefined {
  if (/[/+]json\s*(?:;|$)/iu.test(contentType)) {
    const tree = treeOf(body);
    const [child, other] = tree?.kind === 'object' ? tree.members : [];
    return other === undefined ? child?.[0] : undefined;
  }
  if (!/[/+]xml\s*(?:;|$)/iu.test(contentType) || !isUtf8(body)) return undefined;
  const read = readXml(body.toString());
  return 'root' in read ? read.root : undefined;
}

export function treeOf(body: Buffer): JsonNode | undefined {
  try {
    return readJsonTree(body);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
