import type { Stamps } from '../../commit-stamps.ts';
import type { ChangeCall } from '../../dry-runs.ts';
import { pathReadings } from '../../paths/path-readings.ts';
import { decode, parametersOf, paramOf, takeParams, withParameter, withParams } from './commit-params.ts';
import { isConfigurationPost } from './dry-run-request.ts';
import { rollbackWithLabel } from './rollback-files.ts';

const labelParameters: readonly string[] = ['label', 'rollback-label'];
const commentParameters: readonly string[] = ['comment', 'rollback-comment'];

/** NSO shows label and comment of a commit in its rollback files, logs and notifications. */
export const nsoStamps: Stamps = {
  isChange(call) {
    if (call.method === 'GET') return false;
    const [resource = ''] = call.path.split('?', 1);
    if (call.method === 'POST') return isConfigurationPost(resource, call);
    return (pathReadings(resource) ?? []).some((reading) => /^restconf\/data(?:\/|$)/u.test(reading));
  },
  refusal(call) {
    const own = takeParams(call);
    if ('problem' in own) return own.problem;
    if (labelsOf(call).some((label) => /^\s*og-/iu.test(label)))
      return 'its label begins with og-, which the stamps of the gateway have';
    const [, comment] = paramOf(own.params, 'comment') ?? [];
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

type Stamped = Pick<ChangeCall, 'path' | 'passedOn'>;

interface Added {
  readonly label?: string;
  readonly comment?: string;
}

/** Of its caller, decoded. */
function labelsOf(call: Stamped): readonly string[] {
  const inQuery = (parametersOf(call.path) ?? []).filter(([name]) => labelParameters.includes(name));
  const own = takeParams(call);
  const inParams = 'params' in own ? own.params.filter(([name]) => /(?:^|:)label$/u.test(name)) : [];
  return [
    ...inQuery.map(([, value]) => decode(value) ?? value),
    ...inParams.map(([, text]) => String(JSON.parse(text) as unknown)),
  ];
}

/** NSO must see one comment alone, which has the stamp. `hasParam`: the commit parameters have one. */
function commentRefusal(path: string, hasParam: boolean): string | undefined {
  const parameters = parametersOf(path);
  if (parameters === undefined) return 'the name of a query parameter has a wrong percent-encoding';
  const inQuery = parameters.filter(([name]) => commentParameters.includes(name)).length;
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
