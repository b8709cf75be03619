import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { RequestProblem } from '#base/gateway-error.ts';
import { readParameters } from '#base/text/query-parameters.ts';
import { createProblemList, invalidRequest, type ProblemList } from '#json/forms/problem-list.ts';
import { schemaJudge } from '#json/forms/schema-problems.ts';
import { readEnvelope, readEnvelopeInSteps } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/json-pointer.ts';
import { readPieces } from './body-arrival.ts';
import type { ServedRequest } from './request-scope.ts';
import { isQueryReader, type Route } from './route.ts';
import type { JsonBody, Judgement } from './route-body.ts';

export interface ReadBody {
  readonly value: unknown;
  readonly spans: ReadonlyMap<string, Buffer>;
}

/** Bytes of JSON whose reading takes less than a millisecond: longer bodies are read in steps. */
const readAtOnce = 131_072;

const noSpans: ReadonlyMap<string, Buffer> = new Map();

/** Rejects with 400 `invalid-json` or `invalid-request`. */
export type BodyReader = (request: ServedRequest, problemsOfQuery: readonly RequestProblem[]) => Promise<ReadBody>;

/**
 * Reads and judges the body of a route: JSON strictly and by its schema. All problems are reported at once, with those of the query
 * string.
 */
export function bodyReader({ body }: Route): BodyReader {
  if (body?.kind === 'json') return jsonReader(body);
  return async (request, problemsOfQuery) => {
    refuseProblems(problemsOfQuery);
    return { value: passBody(body?.kind, request), spans: noSpans };
  };
}

/** A body that its handler judges. */
function passBody(kind: 'document' | 'form' | 'stream' | undefined, { raw, body }: ServedRequest): unknown {
  if (kind === 'stream') return readPieces(raw);
  return kind === 'document' ? (body ?? Buffer.alloc(0)) : (body?.toString('utf8') ?? '');
}

function jsonReader(body: JsonBody): BodyReader {
  const opaque = opaqueMembers(body.opaque ?? []);
  let judging: ReturnType<typeof judgeOf> | undefined;
  const withoutBody = Buffer.from(body.optional === true ? '{}' : '');
  return async (request, problemsOfQuery) => {
    const judge = await (judging ??= judgeOf(body));
    const alsoWrong = (envelope: ReadBody): readonly RequestProblem[] => [...problemsOfQuery, ...judge(envelope).problems];
    const bytes = request.body ?? withoutBody;
    const envelope =
      bytes.length > readAtOnce
        ? await readEnvelopeInSteps(bytes, { opaque, alsoWrong })
        : readEnvelope(bytes, { opaque, alsoWrong });
    const { problems, judged } = judge(envelope);
    refuseProblems([...problemsOfQuery, ...problems]);
    return { spans: envelope.spans, value: judged ?? envelope.value };
  };
}

/** Finds the problems of a body: by its schema, or by the variant that `choose` names, and those that only `judge` can find. */
async function judgeOf(body: JsonBody): Promise<(envelope: ReadBody) => Judgement> {
  const { variants, judge = (): Judgement => ({ problems: [] }) } = body;
  const judges = (variants?.schemas ?? [body.schema]).map(async (schema) => [schema, await schemaJudge(schema)] as const);
  const compiled = new Map(await Promise.all(judges));
  return ({ value, spans }) => {
    const schema = variants?.choose(value) ?? body.schema;
    const { problems, judged } = judge(value, spans);
    return { problems: [...(compiled.get(schema)?.(value) ?? []), ...problems], judged };
  };
}

function refuseProblems(problems: readonly RequestProblem[]): void {
  if (problems.length > 0) throw invalidRequest(problems);
}

/** Reads the query string as the route declares it. A reader of the route's own throws. */
export function readQuery(
  { query = {} }: Pick<Route, 'query'>,
  { url = '' }: Pick<IncomingMessage, 'url'>,
): { readonly query: unknown; readonly problems: readonly RequestProblem[] } {
  const at = url.indexOf('?');
  const text = at < 0 ? '' : url.slice(at + 1);
  // URLSearchParams drops one leading `?`; without this one it would drop the first character of a name such as `?a`.
  const given = new URLSearchParams(`?${text}`);
  const list = createProblemList();
  addNotUtf8(list, text);
  if (isQueryReader(query)) return { query: list.problems.length > 0 ? undefined : query.read(given), problems: list.problems };
  const read = readParameters(given, query);
  if ('values' in read) return { query: read.values, problems: list.problems };
  for (const { pointer, detail } of read.problems) list.add(pointer, detail);
  return { query: undefined, problems: list.problems };
}

function addNotUtf8(list: ProblemList, text: string): void {
  for (const parameter of text.split('&').filter((each) => !isUtf8(percentDecoded(each)))) {
    const [name = ''] = new URLSearchParams(`?${parameter}`).keys();
    list.add(`?${name.slice(0, 128)}`, 'is not UTF-8; percent-encode the bytes of UTF-8');
  }
}

/**
 * The bytes of a part of a query string. The parser's result cannot show invalid UTF-8: it has U+FFFD there (URL Standard 5.1), which a
 * caller may also send.
 */
function percentDecoded(text: string): Buffer {
  return Buffer.from(
    text.replaceAll(/%([0-9a-f]{2})/giu, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
}
