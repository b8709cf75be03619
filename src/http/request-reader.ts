import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { RequestProblem } from '#base/gateway-error.ts';
import { readEnvelope, readEnvelopeInSteps } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/opaque-member.ts';
import { createProblemList, invalidRequest } from '#json/problem-list.ts';
import { schemaProblems } from '#json/schema-problems.ts';
import { arriving } from './connections/body-time.ts';
import type { JsonBody, Judgement, Route } from './route.ts';
import type { ServedRequest } from './served-request.ts';

export interface ReadBody extends Envelope {
  /** What the `judge` of the route read of the body. */
  readonly judged: unknown;
}

interface Envelope {
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
    return { value: unjudged(body?.kind, request), spans: noSpans, judged: undefined };
  };
}

/** A body that its handler judges. */
function unjudged(kind: 'document' | 'form' | 'stream' | undefined, { raw, body }: ServedRequest): unknown {
  if (kind === 'stream') return arriving(raw);
  return kind === 'document' ? (body ?? Buffer.alloc(0)) : (body?.toString('utf8') ?? '');
}

function jsonReader(body: JsonBody): BodyReader {
  const opaque = opaqueMembers(body.opaque ?? []);
  const judge = judgeOf(body);
  const withoutBody = Buffer.from(body.optional === true ? '{}' : '');
  return async (request, problemsOfQuery) => {
    const alsoWrong = (envelope: Envelope): readonly RequestProblem[] => [...problemsOfQuery, ...judge(envelope).problems];
    const bytes = request.body ?? withoutBody;
    const envelope =
      bytes.length > readAtOnce
        ? await readEnvelopeInSteps(bytes, { opaque, alsoWrong })
        : readEnvelope(bytes, { opaque, alsoWrong });
    const { problems, judged } = judge(envelope);
    refuseProblems([...problemsOfQuery, ...problems]);
    return { ...envelope, judged };
  };
}

/** Finds the problems of a body: by its schema, or by the variant that `choose` names, and those that only `judge` can find. */
function judgeOf(body: JsonBody): (envelope: Envelope) => Judgement {
  const { variants, judge = (): Judgement => ({ problems: [] }) } = body;
  const compiled = new Map((variants?.schemas ?? [body.schema]).map((schema) => [schema, schemaProblems(schema)]));
  return ({ value, spans }) => {
    const schema = variants?.choose(value) ?? body.schema;
    const { problems, judged } = judge(value, spans);
    return { problems: [...(compiled.get(schema)?.(value) ?? []), ...problems], judged };
  };
}

function refuseProblems(problems: readonly RequestProblem[]): void {
  if (problems.length > 0) throw invalidRequest(problems);
}

export function readQuery(
  route: Route,
  request: IncomingMessage,
): { readonly query: URLSearchParams; readonly problems: readonly RequestProblem[] } {
  const { url = '' } = request;
  const at = url.indexOf('?');
  if (at < 0) return { query: new URLSearchParams(), problems: [] };
  const text = url.slice(at + 1);
  // URLSearchParams drops one leading `?`; without this one it would drop the first character of a name such as `?a`.
  const query = new URLSearchParams(`?${text}`);
  const list = createProblemList();
  for (const name of query.keys()) {
    if (route.query?.(name) !== true) list.add(`?${name.slice(0, 128)}`, 'is no query parameter of this route; leave it out');
  }
  for (const parameter of text.split('&').filter((each) => !isUtf8(percentDecoded(each)))) {
    const [name = ''] = new URLSearchParams(`?${parameter}`).keys();
    list.add(`?${name.slice(0, 128)}`, 'is not UTF-8; percent-encode the bytes of UTF-8');
  }
  return { query, problems: list.problems };
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
