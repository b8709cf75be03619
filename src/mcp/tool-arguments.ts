import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import { invalidRequest } from '#json/forms/problem-list.ts';
import { schemaProblems } from '#json/forms/schema-problems.ts';
import { readEnvelopeInSteps } from '#json/json-envelope.ts';
import { opaqueMembers } from '#json/json-pointer.ts';
import { argumentOf } from './tool-result.ts';

/** Members of arguments whose exact text counts. */
const exactNames = ['body', 'input'] as const;

export const exactPointers: readonly string[] = exactNames.map((name) => `/params/arguments/${name}`);

/** The arguments of a call of a tool as they came. */
export interface ToolArguments {
  readonly values: Readonly<Record<string, unknown>>;
  /** The exact JSON text of `body` and `input`, where they are given. */
  readonly texts: Readonly<Partial<Record<(typeof exactNames)[number], string>>>;
}

/** `spans`: the bytes of `exactPointers`. */
export function givenArguments(values: unknown, spans: ReadonlyMap<string, Buffer>): ToolArguments {
  const texts = exactNames.flatMap((name) => {
    const span = spans.get(`/params/arguments/${name}`);
    return span === undefined ? [] : [[name, span.toString()] as const];
  });
  return { values: isObject(values) ? values : {}, texts: Object.fromEntries(texts) };
}

/** Judges arguments by a schema. Rejects with `invalid-request`, with every problem and how to do it right. */
export type JudgeArguments = (given: ToolArguments) => Promise<void>;

export function argumentJudge(schema: JsonSchema): JudgeArguments {
  const problemsOf = schemaProblems(schema);
  const { properties = {}, required = [] } = schema as { readonly properties?: object; readonly required?: readonly string[] };
  const known = Object.keys(properties).map((name) => (required.includes(name) ? `${name} (required)` : name));
  return async ({ values, texts }) => {
    const list = await problemsOf(values);
    const problems = [...list.map((problem) => advised(problem, values)), ...numberProblems(texts)];
    if (problems.length === 0) return;
    const [first] = problems;
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    const takes = known.length === 0 ? 'The tool takes no arguments.' : `The tool takes ${known.join(', ')}.`;
    throw new GatewayError('invalid-request', `${first?.pointer} ${first?.detail}${more}. ${takes}`, { errors: problems });
  };
}

/** Models write null for what they leave out, and JSON as text. */
function advised({ pointer, detail }: RequestProblem, values: ToolArguments['values']): RequestProblem {
  const name = argumentOf(pointer);
  const value = values[name];
  const isText = typeof value === 'string' && /^\s*[[{"\d-]/u.test(value);
  const advice = value === null ? '; leave it out instead of null' : isText ? '; send the value itself, not its JSON text' : '';
  return { pointer: name, detail: `${detail}${advice}` };
}

function numberProblems(texts: ToolArguments['texts']): readonly RequestProblem[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    const number = text.startsWith('"') ? undefined : changedNumber(text);
    if (number === undefined) return [];
    const detail = `has the number ${number.slice(0, 40)}, which a JSON parser would change; send ${name} as text, as in {"${name}": "{…}"}`;
    return [{ pointer: name, detail }];
  });
}

/** The first number whose value a double does not hold. */
function changedNumber(text: string): string | undefined {
  // Few texts have a number that is long enough, or that has an exponent.
  if (!/\d[\d.]{15}|\d[eE]/u.test(text)) return undefined;
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu))
    if (!part.startsWith('"') && decimalOf(part) !== decimalOf(String(Number(part)))) return part;
  return undefined;
}

/** The same text for numbers of the same value. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/u.exec(text) ?? [];
  if (whole === '') return text;
  const digits = `${whole}${fraction}`.replace(/^0+/u, '');
  const significant = digits.replace(/0+$/u, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/** The bytes of a JSON object that came as an object or as its text. Rejects with `invalid-request`. */
export async function exactObject(given: ToolArguments, name: (typeof exactNames)[number]): Promise<Buffer | undefined> {
  const text = given.texts[name];
  if (text === undefined) return undefined;
  return text.startsWith('"') ? await objectIn(JSON.parse(text) as string, name) : Buffer.from(text);
}

async function objectIn(text: string, name: string): Promise<Buffer> {
  const refuse = (detail: string): GatewayError => invalidRequest([{ pointer: name, detail }]);
  if (!text.trimStart().startsWith('{')) throw refuse(`is text, but no JSON object; write it as {"${name}": "{…}"}`);
  try {
    const { value, spans } = await readEnvelopeInSteps(Buffer.from(`{"body":${text}}`), { opaque: opaqueMembers(['/body']) });
    const body = spans.get('/body');
    if (body !== undefined && Object.keys(value as object).length === 1) return body;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  throw refuse('is the text of no JSON object; correct its syntax, or send the object itself');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
