import { isUtf8 } from 'node:buffer';
import { opaqueMembers, pointerTo } from '#json/json-pointer.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { JsonTreeReader, readJsonTree } from '#json/json-tree.ts';
import type { ChangeCall } from '../../dry-runs.ts';
import { localName } from './dry-run-answer.ts';

/** Of NSO 6.7 and later, in place of `params`. */
const paramsHeader = 'x-cisco-nso-commit-params';

/** Name as written, and the JSON text of its value. */
type Param = readonly [name: string, text: string];

/** What a call says of its commit in `params` and in the header, and the call without them. */
interface OwnParams extends Pick<ChangeCall, 'path' | 'passedOn'> {
  readonly params: readonly Param[];
  /** Also where they are empty. */
  readonly isGiven: boolean;
}

/** A sentence about the call. */
interface ParamsProblem {
  readonly problem: string;
}

/** Both are base64 of one JSON object (tailf-ncs-commit-params). */
export function takeParams({ path, passedOn }: Pick<ChangeCall, 'path' | 'passedOn'>): OwnParams | ParamsProblem {
  const { [paramsHeader]: header, ...rest } = passedOn;
  const query = takeFromQuery(path);
  if ('problem' in query) return query;
  const given = [query.encoded, header].filter((one) => one !== undefined);
  const params: Param[] = [];
  for (const encoded of given) {
    const read = readParams(encoded);
    if (read === undefined) return { problem: 'its commit parameters are not base64 of one JSON object' };
    params.push(...read);
  }
  const names = params.map(([name]) => localName(name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return { problem: `its commit parameters have ${twice} twice` };
  if (names.includes('commit-params')) return { problem: 'its commit parameters have a form that the gateway does not know' };
  return { path: query.path, passedOn: rest, params, isGiven: given.length > 0 };
}

/** With further ones, in the query alone: a server that does not know a header ignores it, and would execute a dry run. */
export function withParams(
  { path, passedOn, params }: OwnParams,
  ...more: readonly Param[]
): Pick<ChangeCall, 'path' | 'passedOn'> {
  const text = `{${[...params, ...more].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  return { path: withParameter(path, `params=${encodeURIComponent(Buffer.from(text).toString('base64'))}`), passedOn };
}

export function paramOf(params: readonly Param[], name: string): Param | undefined {
  return params.find(([written]) => localName(written) === name);
}

/** `parameter` as it is in a query. */
export function withParameter(path: string, parameter: string): string {
  const [, query] = /^[^?]*\?(.*)$/su.exec(path) ?? [];
  const separator = query === undefined ? '?' : query === '' || query.endsWith('&') ? '' : '&';
  return `${path}${separator}${parameter}`;
}

/** Name in lower case, and value. Undefined where one is percent-encoded in a wrong way. */
export function parametersOf(path: string): readonly Param[] | undefined {
  const [, query = ''] = /^[^?]*\?(.*)$/su.exec(path) ?? [];
  const pairs = query.split(/[&;]/u).map((parameter) => {
    const at = parameter.indexOf('=');
    return [
      decode(at < 0 ? parameter : parameter.slice(0, at))
        ?.trim()
        .toLowerCase(),
      at < 0 ? '' : parameter.slice(at + 1),
    ];
  });
  const known = pairs.filter((pair): pair is [string, string] => pair[0] !== undefined);
  return known.length === pairs.length ? known : undefined;
}

export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function takeFromQuery(path: string): { readonly path: string; readonly encoded?: string | undefined } | ParamsProblem {
  const given = parametersOf(path)?.filter(([name]) => name === 'params') ?? [];
  const [only] = given;
  if (only === undefined) return { path };
  const [, before = '', query = ''] = /^([^?]*)\?(.*)$/su.exec(path) ?? [];
  const pieces = query.split('&');
  const rest = pieces.filter((piece) => parametersOf(`?${piece}`)?.some(([name]) => name === 'params') !== true);
  if (given.length > 1 || pieces.some((piece) => piece.includes(';') && !rest.includes(piece)))
    return { problem: 'its query has params more than once, or next to a semicolon' };
  return { path: rest.length === 0 ? before : `${before}?${rest.join('&')}`, encoded: decode(only[1]) };
}

/** Characters, of base64. */
const maxEncoded = 65_536;

function readParams(encoded: string): readonly Param[] | undefined {
  if (encoded.length > maxEncoded || encoded.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/u.test(encoded)) return undefined;
  const text = Buffer.from(encoded, 'base64');
  if (!isUtf8(text)) return undefined;
  try {
    const tree = readJsonTree(text);
    if (tree.kind !== 'object') return undefined;
    const names = tree.members.map(([name]) => name);
    const reader = new JsonTreeReader(text, { opaque: opaqueMembers(names.map((name) => pointerTo('', name))) });
    reader.read();
    return names.map((name) => [name, reader.spans.get(pointerTo('', name))?.toString() ?? 'null'] as const);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
