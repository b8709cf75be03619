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
  /** What the `judge` of the route read of it. */
  readonly judged: unknown;
}

interface Envelope {
  readonly value: unknown;
  readonly spans: ReadonlyMap<string, Buffer>;
}

/** Bytes of JSON that take less than a millisecond. */
const readAtOnce = 131_072;

const noSpans: ReadonlyMap<string, Buffer> = new Map();

/** Throws or rejects with 400. */
type BodyReader = (request: ServedRequest, problemsOfQuery: readonly RequestProblem[]) => ReadBody | Promise<ReadBody>;

/**
 * Reads and judges the body of a route: JSON strictly and by its schema, every problem at once, with those of the query string. A promise
 * where it is long.
 */
export function bodyReader(route: Route): BodyReader {
  const { body } = route;
  if (body?.kind === 'stream') {
    return ({ raw }, problemsOfQuery) => {
      refuseProblems(problemsOfQuery);
      return { value: arriving(raw), spans: noSpans, judged: undefined };
    };
  }
  if (body?.kind !== 'json') {
    return (request, problemsOfQuery) => {
      refuseProblems(problemsOfQuery);
      return { value: request.body?.toString('utf8') ?? '', spans: noSpans, judged: undefined };
    };
  }
  const opaque = opaqueMembers(body.opaque ?? []);
  const judge = judgeOf(body);
  return (request, problemsOfQuery) => {
    const alsoWrong = (envelope: Envelope): readonly RequestProblem[] => joined(problemsOfQuery, judge(envelope).problems);
    const judged = (envelope: Envelope): ReadBody => {
      const { problems, judged } = judge(envelope);
      refuseProblems(joined(problemsOfQuery, problems));
      return { ...envelope, judged };
    };
    const bytes = request.body ?? Buffer.alloc(0);
    if (bytes.length > readAtOnce) return readEnvelopeInSteps(bytes, { opaque, alsoWrong }).then(judged);
    return judged(readEnvelope(bytes, { opaque, alsoWrong }));
  };
}

/** What is wrong with a body by its schema (by the variant that it is meant to be, where there are several) and beyond it. */
function judgeOf(body: JsonBody): (envelope: Envelope) => Judgement {
  const { variants, judge = (): Judgement => ({ problems: none }) } = body;
  const compiled = new Map((variants?.schemas ?? [body.schema]).map((schema) => [schema, schemaProblems(schema)]));
  return ({ value, spans }) => {
    const schema = variants?.choose(value) ?? body.schema;
    const { problems, judged } = judge(value, spans);
    return { problems: joined(compiled.get(schema)?.(value) ?? none, problems), judged };
  };
}

const none: readonly RequestProblem[] = [];

/** Both lists; nothing is made where one is empty, as it mostly is. */
function joined(first: readonly RequestProblem[], second: readonly RequestProblem[]): readonly RequestProblem[] {
  if (first.length === 0) return second;
  return second.length === 0 ? first : [...first, ...second];
}

function refuseProblems(problems: readonly RequestProblem[]): void {
  if (problems.length > 0) throw invalidRequest(problems);
}

const noQuery = { query: new URLSearchParams(), problems: [] };

export function readQuery(
  route: Route,
  request: IncomingMessage,
): { readonly query: URLSearchParams; readonly problems: readonly RequestProblem[] } {
  const { url = '' } = request;
  const at = url.indexOf('?');
  if (at < 0) return noQuery;
  const text = url.slice(at + 1);
  // It takes one `?` at the beginning off, which is part of a name here.
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

/** The bytes of a part of a query string. The parser puts U+FFFD where they are not UTF-8 (URL Standard 5.1), which may stand there by itself. */
function percentDecoded(text: string): Buffer {
  return Buffer.from(
    text.replaceAll(/%([0-9a-f]{2})/giu, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
}
