import { Errors } from 'typebox/schema';
import { Settings } from 'typebox/system';
import { cutText } from '#base/cut-text.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import { parsePlain } from '#json/plain-json.ts';
import { createProblemList, mostProblems } from '#json/problem-list.ts';
import { type SchemaFault, schemaFault } from './schema-fault.ts';
import { addProblems } from './schema-wording.ts';

/** A value and the JSON Schema that it is held against, as JSON texts. */
export interface SchemaRequest {
  readonly schema: string;
  readonly value: string;
}

/** At most 100 problems of the value, each with its pointer into the value, or what is wrong with the schema. */
export type SchemaVerdict = { readonly problems: readonly RequestProblem[] } | { readonly fault: SchemaFault };

type Checked = { readonly schema: JsonSchema | boolean } | { readonly fault: SchemaFault };

/**
 * Judges values, with no limit of time or memory. The library reads the schema and makes no program of it, because schemas come from
 * callers. Remembers the last schema, because a loop uses the same one for each of its items.
 */
export function createSchemaJudge(): (request: SchemaRequest) => SchemaVerdict {
  // The library stops after 8 errors by default. A summary of alternatives takes up errors that are not listed.
  Settings.Set({ maxErrors: 4 * mostProblems });
  let last: { readonly text: string; readonly checked: Checked } | undefined;
  return ({ schema: text, value }) => {
    if (last?.text !== text) last = { text, checked: check(text) };
    const { checked } = last;
    return 'fault' in checked ? checked : judge(checked.schema, value);
  };
}

function check(text: string): Checked {
  try {
    const schema = parsePlain(text);
    const fault = schemaFault(schema);
    return fault === undefined
      ? { schema: schema as JsonSchema | boolean }
      : { fault: { ...fault, pointer: cutText(fault.pointer), detail: cutText(fault.detail) } };
  } catch (error) {
    return { fault: faultOf(error, 'is no JSON') };
  }
}

function judge(schema: JsonSchema | boolean, text: string): SchemaVerdict {
  let value: unknown;
  try {
    value = parsePlain(text);
  } catch (error) {
    return { fault: faultOf(error, 'cannot be applied: the value is no JSON') };
  }
  try {
    // The library takes booleans as well, which its types leave out.
    const [isValid, errors] = Errors(schema as JsonSchema, value);
    if (isValid) return { problems: [] };
    const list = createProblemList();
    addProblems(list, errors);
    if (list.problems.length === 0) list.add('', 'does not satisfy the schema');
    return { problems: list.problems.map(({ pointer, detail }) => ({ pointer: cutText(pointer), detail: cutText(detail) })) };
  } catch (error) {
    return { fault: faultOf(error, 'cannot be applied') };
  }
}

function faultOf(error: unknown, what: string): SchemaFault {
  if (error instanceof RangeError)
    return { pointer: '', detail: 'the schema or the value is nested too deeply, or a $ref leads to itself' };
  if (error instanceof SyntaxError) return { pointer: '', detail: cutText(`the schema ${what} (${error.message})`) };
  throw error;
}
