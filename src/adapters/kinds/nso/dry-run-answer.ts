import { type DryRunFormat, dryRunFormats, type Preview, type WholeAnswer } from '#adapters/dry-runs.ts';
import type { JsonNode } from '#json/json-tree.ts';
import { entriesIn, localName, memberNamed, readTreeInSteps, textIn } from './json-members.ts';

/** The member that holds the result in each format. */
const holders: Readonly<Record<DryRunFormat, string>> = { native: 'native', cli: 'cli', xml: 'result-xml' };

/** A text of the answer, and the device or node that it is about. */
interface Piece {
  readonly about: string | undefined;
  readonly text: string;
}

/** Reads NSO's answer to a dry run: `dry-run-result` of a configuration change, `output` of an action. */
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
  // The result of sync-to is text without a holder; that of several devices is a list.
  const pieces = piecesIn(result);
  const isDryRun = pieces.length > 0 ? memberNamed(result, 'result') === undefined : isInSync(result);
  if (isDryRun) return { kind: format, text: textOf(pieces, path) };
  const info = textIn(result, 'info');
  return none(info === undefined ? `NSO answered ${status} without the result of a dry run` : `NSO answered: ${info}`);
}

/** Devices about which a dry run has nothing to say. An action that was executed has a `result` for each. */
function isInSync(output: JsonNode): boolean {
  const devices = entriesIn(memberNamed(output, 'sync-result'));
  return devices.length > 0 && devices.every((device) => memberNamed(device, 'result') === undefined);
}

function none(said: string): Preview {
  return { kind: 'none', reason: `${storableText(said)}.` };
}

/** Every `data`, at any depth; of an entry without one its `info`. */
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

/** How a heading names the entry of a list; undefined where it has no name. */
function nameOf(entry: JsonNode, list: string): string | undefined {
  const device = textIn(entry, 'device');
  if (device !== undefined) return `device ${device}`;
  const name = textIn(entry, 'name');
  return name === undefined ? undefined : `${list} ${name}`;
}

/** The texts of NSO one after the other. A heading names the device of each, unless there is one alone and the path of the call names it. */
function textOf(pieces: readonly Piece[], path: string): string {
  const [only, ...others] = pieces;
  if (only === undefined || pieces.every(({ text }) => text === '')) return '';
  const isNamed = only.about === undefined || namesDevice(path, only.about);
  if (others.length === 0 && isNamed) return storableText(only.text);
  return storableText(pieces.map(({ about, text }) => (about === undefined ? '' : `# ${about}\n`) + ended(text)).join(''));
}

function ended(text: string): string {
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

/** Without U+0000 and lone surrogates, which not every store takes. */
function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}
