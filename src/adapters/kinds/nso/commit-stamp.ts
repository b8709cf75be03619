import type { Stamps } from '../../commit-stamps.ts';
import type { ChangeCall } from '../../dry-runs.ts';
import { decode, parametersOf, paramOf, takeParams, withParameter, withParams } from './commit-params.ts';
import { isConfigurationChange } from './configuration-change.ts';
import { localName } from './dry-run-answer.ts';
import { rollbackWithLabel } from './rollback-files.ts';

const labelParameters: readonly string[] = ['label', 'rollback-label'];
const commentParameters: readonly string[] = ['comment', 'rollback-comment'];

/** NSO shows label and comment of a commit in its rollback files, logs and notifications. */
export const nsoStamps: Stamps = {
  isChange: isConfigurationChange,
  labelRefusal: (call) => unreadable(call) ?? refusedLabel([...labelsOf(call), ...labelsInInput(call.body)]),
  refusal(call) {
    const refused = unreadable(call) ?? refusedLabel(labelsOf(call));
    if (refused !== undefined) return refused;
    const own = takeParams(call);
    const [, comment] = ('params' in own && paramOf(own.params, 'comment')) || [];
    if (comment !== undefined && !comment.startsWith('"')) return 'its comment is no text';
    return commentRefusal(call.path, comment !== undefined);
  },
  hasLabel: (call) => labelsOf(call).length > 0,
  stamp(call, { label, comment }, form) {
    const commented = withComment(call.path, comment);
    const path = commented ?? call.path;
    const stamp = { ...(labelsOf(call).length === 0 && { label }), ...(commented === undefined && { comment }) };
    return form === 'params' ? inParams({ ...call, path }, stamp) : inQuery({ ...call, path }, stamp);
  },
  find: rollbackWithLabel,
};

/** Where a label may hide. */
function unreadable(call: Stamped): string | undefined {
  const own = takeParams(call);
  if ('problem' in own) return own.problem;
  return parametersOf(call.path) === undefined ? 'the name of a query parameter has a wrong percent-encoding' : undefined;
}

function refusedLabel(labels: readonly string[]): string | undefined {
  return labels.some((label) => /^\s*og-/iu.test(label))
    ? 'its label begins with og-, which the stamps of the gateway have'
    : undefined;
}

type Stamped = Pick<ChangeCall, 'path' | 'passedOn'>;

interface Added {
  readonly label?: string;
  readonly comment?: string;
}

/** Of its caller, decoded. */
function labelsOf(call: Stamped): readonly string[] {
  const inQuery = (parametersOf(call.path) ?? []).filter(([name]) => labelParameters.includes(localName(name)));
  const own = takeParams(call);
  const inParams = 'params' in own ? own.params.filter(([name]) => labelParameters.includes(localName(name))) : [];
  return [
    ...inQuery.map(([, value]) => decodeLeniently(value)),
    ...inParams.map(([, text]) => String(JSON.parse(text) as unknown)),
  ];
}

/** As a server reads it that leaves a wrong percent-encoding as it is. */
function decodeLeniently(value: string): string {
  const bytes = value
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/giu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** The input of an action may have commit parameters too: in JSON or XML, of any size, so that no tree is built. */
function labelsInInput(body: Buffer | undefined): readonly string[] {
  const text = body?.toString('latin1').replaceAll('\0', '') ?? '';
  if (!/label|\\u|&#/iu.test(text)) return [];
  const inJson = text.replaceAll(/\\u00([0-9a-f]{2})/giu, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const inXml = without(without(text, '<!--', '-->'), '<?', '?>')
    .replaceAll(/<!\[CDATA\[|\]\]>/gu, '')
    .replaceAll(/&#(?:x0*([0-9a-f]{1,2})|0*(\d{1,3}));/giu, (_, hex?: string, digits?: string) =>
      String.fromCharCode(hex === undefined ? Number(digits) : Number.parseInt(hex, 16)),
    );
  return [
    ...inJson.matchAll(/"(?:[^"\\:]*:)?(?:rollback-)?label"\s*:(?:\s*\[)?\s*"([^"]{0,16})/giu),
    ...inXml.matchAll(/<(?:[\w.-]+:)?(?:rollback-)?label(?:\s[^<>]*)?>([^<]{0,64})/giu),
  ].map(([, label = '']) => label);
}

/** Without the parts between two texts. A pattern would look for the end again and again. */
function without(text: string, begin: string, end: string): string {
  const parts: string[] = [];
  let at = 0;
  for (let open = text.indexOf(begin); open >= 0; open = text.indexOf(begin, at)) {
    const close = text.indexOf(end, open + begin.length);
    if (close < 0) break;
    parts.push(text.slice(at, open));
    at = close + end.length;
  }
  return parts.join('') + text.slice(at);
}

/** NSO must see one comment alone, which has the stamp. `hasParam`: the commit parameters have one. */
function commentRefusal(path: string, hasParam: boolean): string | undefined {
  const inQuery = (parametersOf(path) ?? []).filter(([name]) => commentParameters.includes(name)).length;
  if (inQuery + Number(hasParam) > 1) return 'it has several comments; give one';
  const isReadable = inQuery === 0 || withComment(path, '') !== undefined;
  return isReadable ? undefined : 'its comment is not a query parameter of its own; write &comment=TEXT';
}

/** The path with the stamp in front of its caller's comment. Undefined where it has none. */
function withComment(path: string, stamp: string): string | undefined {
  const at = path.indexOf('?');
  const pieces = at < 0 ? [] : path.slice(at + 1).split('&');
  const index = pieces.findIndex((piece) =>
    commentParameters.includes(decode(piece.split('=', 1)[0] ?? '')?.toLowerCase() ?? ''),
  );
  const given = pieces[index];
  if (given === undefined) return undefined;
  const [name = '', ...value] = given.split('=');
  const changed = pieces.with(index, `${name}=${encodeURIComponent(`${stamp}: `)}${value.join('=')}`);
  return `${path.slice(0, at)}?${changed.join('&')}`;
}

function inQuery(call: Stamped, { label, comment }: Added): Stamped {
  let { path } = call;
  if (label !== undefined) path = withParameter(path, `rollback-label=${encodeURIComponent(label)}`);
  if (comment !== undefined) path = withParameter(path, `rollback-comment=${encodeURIComponent(comment)}`);
  return { path, passedOn: call.passedOn };
}

function inParams(call: Stamped, { label, comment }: Added): Stamped {
  const own = takeParams(call);
  // Refused before.
  if ('problem' in own) return call;
  const given = paramOf(own.params, 'comment');
  const ofCaller = given === undefined ? '' : `: ${String(JSON.parse(given[1]) as unknown)}`;
  const params = own.params.filter((param) => comment === undefined || param !== given);
  const more: (readonly [string, string])[] = [];
  if (label !== undefined) more.push(['label', JSON.stringify(label)]);
  if (comment !== undefined) more.push(['comment', JSON.stringify(comment + ofCaller)]);
  return more.length === 0 ? call : withParams({ ...own, params }, ...more);
}
