import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, JsonTreeReader } from '#json/json-tree.ts';
import { type DryRunFormat, type DryRunProof, dryRunFormats, type Preview, type WholeAnswer } from '../../dry-runs.ts';

const holders: Readonly<Record<DryRunFormat, string>> = { native: 'native', cli: 'cli', xml: 'result-xml' };

interface Piece {
  readonly about: string | undefined;
  readonly text: string;
}

/** `dry-run-result` of a configuration change, `output` of an action. */
export async function readDryRun(
  { status, body }: WholeAnswer,
  { format, path }: { readonly format: DryRunFormat; readonly path: string },
): Promise<Preview> {
  const tree = await readTreeInSteps(body);
  const result = memberNamed(tree, 'dry-run-result') ?? memberNamed(tree, 'output');
  if (result === undefined) return none(`NSO answered ${status} without the result of a dry run`);
  for (const kind of [format, ...dryRunFormats.filter((other) => other !== format)]) {
    const holder = memberNamed(result, holders[kind]);
    if (holder !== undefined) return { kind, text: textOf(piecesIn(holder), path) };
  }
  // sync-to gives text without a holder, or a list of devices.
  const pieces = piecesIn(result);
  const isDryRun = pieces.length > 0 ? memberNamed(result, 'result') === undefined : isInSync(result);
  if (isDryRun) return { kind: format, text: textOf(pieces, path) };
  const info = textIn(result, 'info');
  return none(info === undefined ? `NSO answered ${status} without the result of a dry run` : `NSO answered: ${info}`);
}

/** An executed action has a `result` for each device. */
function isInSync(output: JsonNode): boolean {
  const devices = entriesIn(memberNamed(output, 'sync-result'));
  return devices.length > 0 && devices.every((device) => memberNamed(device, 'result') === undefined);
}

function none(said: string): Preview {
  return { kind: 'none', reason: `${storableText(said)}.` };
}

/** Every `data` at any depth, else its `info`. */
function piecesIn(node: JsonNode, about?: string): readonly Piece[] {
  if (node.kind === 'array') return node.items.flatMap((item) => piecesIn(item, about));
  if (node.kind !== 'object') return [];
  const own = textIn(node, 'data') ?? (about === undefined ? undefined : textIn(node, 'info'));
  if (own !== undefined) return [{ about, text: own }];
  return node.members.flatMap(([written, value]) => {
    const list = localName(written);
    return entriesIn(value).flatMap((item) => piecesIn(item, nameOf(item, list) ?? about));
  });
}

/** For a heading. */
function nameOf(entry: JsonNode, list: string): string | undefined {
  const device = textIn(entry, 'device');
  if (device !== undefined) return `device ${device}`;
  const name = textIn(entry, 'name');
  return name === undefined ? undefined : `${list} ${name}`;
}

/** With a heading for each device, unless the path names the only one. */
function textOf(pieces: readonly Piece[], path: string): string {
  const [only, ...others] = pieces;
  if (only === undefined || pieces.every(({ text }) => text === '')) return '';
  const isNamed = only.about === undefined || namesDevice(path, only.about);
  if (others.length === 0 && isNamed) return storableText(only.text);
  return storableText(pieces.map(({ about, text }) => (about === undefined ? '' : `# ${about}\n`) + endLine(text)).join(''));
}

function endLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function namesDevice(path: string, about: string): boolean {
  const [, key] = /\/device=([^/?]+)/u.exec(path) ?? [];
  return key !== undefined && about === `device ${percentDecoded(key)}`;
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Not every store takes U+0000 and lone surrogates. */
function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** The event loop continues between steps. Undefined: no JSON. */
export async function readTreeInSteps(text: Buffer): Promise<JsonNode | undefined> {
  try {
    return await new JsonTreeReader(text, {}).readInSteps();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** By its local name (RFC 7951, section 4). */
export function memberNamed(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.find(([written]) => localName(written) === name)?.[1];
}

/** A single object is a list of one. */
export function entriesIn(node: JsonNode | undefined): readonly JsonNode[] {
  if (node === undefined) return [];
  return node.kind === 'array' ? node.items : [node];
}

export function textIn(node: JsonNode | undefined, name: string): string | undefined {
  const value = memberNamed(node, name);
  return value?.kind === 'string' ? value.value : undefined;
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Only NSO implements it. */
const proof = 'tailf-ncs';

/** Of NSO 6.7 and later. */
const commitParams = 'tailf-ncs-commit-params';

/** RFC 8525, then RFC 7895. `fields` shortens the answer; a server may ignore it. */
const forms = [
  { path: 'restconf/data/ietf-yang-library:yang-library?fields=module-set/module/name', modules: modulesOfSets },
  { path: 'restconf/data/ietf-yang-library:modules-state?fields=module(name;conformance-type)', modules: modulesOfState },
] as const;

/** By the YANG library: it has to list NSO's module. */
export async function proveNso(read: (path: string, accept: string) => Promise<WholeAnswer>): Promise<DryRunProof> {
  const said: string[] = [];
  for (const { path, modules } of forms) {
    const { status, body } = await read(path, 'application/yang-data+json');
    if (status === 200) {
      const tree = await readTreeInSteps(body);
      const names = tree === undefined ? undefined : modules(tree);
      if (names?.includes(proof) === true) return { form: names.includes(commitParams) ? 'params' : 'parameters' };
      said.push(names === undefined ? 'answers no YANG library' : `does not list the module ${proof}`);
    } else said.push(`answers ${status}`);
  }
  return { missing: `its YANG library does not prove that it is NSO: GET yang-library ${said[0]}, GET modules-state ${said[1]}` };
}

/** `import-only-module` is another list. */
function modulesOfSets(tree: JsonNode): readonly string[] | undefined {
  const library = memberNamed(tree, 'yang-library');
  if (library === undefined) return undefined;
  return entriesIn(memberNamed(library, 'module-set'))
    .flatMap((set) => entriesIn(memberNamed(set, 'module')))
    .flatMap((module) => textIn(module, 'name') ?? []);
}

function modulesOfState(tree: JsonNode): readonly string[] | undefined {
  const state = memberNamed(tree, 'modules-state');
  if (state === undefined) return undefined;
  return entriesIn(memberNamed(state, 'module'))
    .filter((module) => textIn(module, 'conformance-type') !== 'import')
    .flatMap((module) => textIn(module, 'name') ?? []);
}
