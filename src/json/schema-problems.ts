import type { TLocalizedValidationError } from 'typebox/error';
import { Compile } from 'typebox/schema';
import { Settings } from 'typebox/system';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import { pointerTo } from './json-pointer.ts';
import { mostProblems } from './problem-list.ts';

const none: readonly RequestProblem[] = [];

/** Compiles a schema to a function that lists what is wrong with a value: nothing is coerced, nothing is filled in. */
export function schemaProblems(schema: JsonSchema): (value: unknown) => readonly RequestProblem[] {
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return none;
    // The library stops at 8 errors unless told otherwise; the setting is read on each call.
    Settings.Set({ maxErrors: mostProblems });
    const [, errors] = validator.Errors(value);
    const problems = errors.flatMap(problemsOf);
    // Never an empty list for a value that does not fit, whatever the library reports.
    return problems.length > 0 ? problems : [{ pointer: '', detail: 'does not fit the schema of this route' }];
  };
}

function problemsOf(error: TLocalizedValidationError): readonly RequestProblem[] {
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        pointer: pointerTo(error.instancePath, name),
        detail: 'is required',
      }));
    // A member that a closed object does not know fails its schema, `false`; the summary of all of them says nothing more.
    case 'boolean':
      return [{ pointer: error.instancePath, detail: 'is not known; leave it out, or correct its name' }];
    case 'additionalProperties':
    // A member that may be null is a union: what is wrong with its other alternative says enough.
    case 'anyOf':
      return [];
    case 'type':
      return error.params.type === 'null' ? [] : [{ pointer: error.instancePath, detail: error.message }];
    case 'enum':
      return [
        {
          pointer: error.instancePath,
          detail: `must be one of ${error.params.allowedValues.map((value) => JSON.stringify(value)).join(', ')}`,
        },
      ];
    default:
      return [{ pointer: error.instancePath, detail: error.message }];
  }
}
