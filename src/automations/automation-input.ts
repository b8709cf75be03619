import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import { readEnvelope } from '#json/json-envelope.ts';

/** Where a document, a merge patch or a line of an import has the input of scheduled runs. A request is read without it. */
export const inputPointer = '/data/input';

/** Bytes of the input as JSON text. */
export const longestInput = 262_144;

interface WithInput {
  readonly value: unknown;
  readonly problems: readonly RequestProblem[];
}

/** Puts the input, whose bytes are in `spans`, into the value that was read without it. Its numbers keep their digits. */
export function withInput(value: unknown, spans: ReadonlyMap<string, Buffer>): WithInput {
  const bytes = spans.get(inputPointer);
  const { data } = (value ?? {}) as { readonly data?: unknown };
  // The schema names an input that is no object.
  if (bytes === undefined || bytes[0] !== openingBrace || typeof data !== 'object') return { value, problems: [] };
  if (bytes.length > longestInput) return { value, problems: [tooLong] };
  try {
    const { value: input } = readEnvelope(bytes, { opaque: [], exactNumbers: true });
    return { value: { ...(value as object), data: { ...data, input } }, problems: [] };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { errors = [{ pointer: '', detail: error.message }] } = error;
    return { value, problems: errors.map(({ pointer, detail }) => ({ pointer: `${inputPointer}${pointer}`, detail })) };
  }
}

const openingBrace = 0x7b;

/** The problem of an input that is too long, as a merge patch can make it. */
export function inputProblems(input: unknown): readonly RequestProblem[] {
  return input !== undefined && Buffer.byteLength(JSON.stringify(input)) > longestInput ? [tooLong] : [];
}

const tooLong = { pointer: inputPointer, detail: `has more than ${longestInput} bytes as JSON text; shorten it` };
