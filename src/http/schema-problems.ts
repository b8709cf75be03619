import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Settings } from 'typebox/system';
import type { RequestProblem } from '#base/gateway-error.ts';

/** A request names all its problems at once; this bounds what a hostile one can make the gateway write. */
const problemLimit = 100;

/** Compiles a schema to a function that lists what is wrong with a value: nothing is coerced, nothing is filled in. */
export function schemaProblems(schema: TSchema): (value: unknown) => readonly RequestProblem[] {
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return [];
    // The library stops at 8 errors unless told otherwise; the setting is read on each call.
    Settings.Set({ maxErrors: problemLimit });
    return validator.Errors(value).flatMap(problemsOf);
  };
}

function problemsOf(error: TLocalizedValidationError): readonly RequestProblem[] {
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        pointer: member(error.instancePath, name),
        detail: 'is required',
      }));
    // A member that a closed object does not know fails its schema, `false`; the summary of all of them says nothing more.
    case 'boolean':
      return [{ pointer: error.instancePath, detail: 'is not known; leave it out, or correct its name' }];
    case 'additionalProperties':
      return [];
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

function member(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
