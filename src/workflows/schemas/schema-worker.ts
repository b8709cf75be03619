import { Errors } from 'typebox/schema';
import { Settings } from 'typebox/system';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import { cutText } from '#base/text/cut-text.ts';
import { createProblemList, maxProblems } from '#json/forms/problem-list.ts';
import { addProblems } from '#json/forms/schema-wording.ts';
import { parsePlain } from '#json/parse-json.ts';
import { answerRequests } from '../thread-pool.ts';
import { type SchemaFault, schemaFault } from './schema-fault.ts';

answerRequests(createSchemaJudge());

export interface SchemaRequest {
  readonly schema: string;
  readonly value: string;
}

/** At most 100 problems. */
export type SchemaVerdict = { readonly problems: readonly RequestProblem[] } | { readonly fault: SchemaFault };

type Checked = { readonly schema: JsonSchema | boolean } | { readonly fault: SchemaFault };

/** Interprets the schema, since callers write it. Remembers the last one: a loop repeats it for each item. */
function createSchemaJudge(): (request: SchemaRequest) => SchemaVerdict {
  // The default of 8 is too low: errors of alternatives are merged.
  Settings.Set({ maxErrors: 4 * maxProblems });
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
    // The types leave out booleans.
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
