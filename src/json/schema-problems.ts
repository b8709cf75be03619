import type { TLocalizedValidationError } from 'typebox/error';
import { Compile } from 'typebox/schema';
import { Settings } from 'typebox/system';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import { pointerTo } from './json-pointer.ts';
import { mostProblems } from './problem-list.ts';

const none: readonly RequestProblem[] = [];

/**
 * Compiles a schema to a function that lists the problems of a value. The value is not coerced, and defaults are not filled in.
 */
export function schemaProblems(schema: JsonSchema): (value: unknown) => readonly RequestProblem[] {
  const validator = Compile(schema);
  const homes = new Map<string, string>();
  addHomes(homes, schema, '');
  return (value) => {
    if (validator.Check(value)) return none;
    // The library stops after 8 errors by default. It reads this setting on each call.
    Settings.Set({ maxErrors: mostProblems });
    const [, errors] = validator.Errors(value);
    const problems = errors.flatMap((error) => problemsOf(error, homes));
    // The list is never empty for a value that does not match, even if the library reports no error.
    return problems.length > 0 ? problems : [{ pointer: '', detail: 'does not match the schema of this route' }];
  };
}

/** The keywords that lead to members. */
interface Members {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
}

/** Adds where each member belongs, as `data.description`: the outermost place of its name. */
function addHomes(homes: Map<string, string>, schema: JsonSchema, path: string): void {
  const { properties = {}, anyOf = [] } = schema as Members;
  const members = Object.entries(properties).map(([name, member]) => ({
    name,
    member,
    at: path === '' ? name : `${path}.${name}`,
  }));
  for (const { name, at } of members) if (!homes.has(name)) homes.set(name, at);
  for (const { member, at } of members) addHomes(homes, member, at);
  for (const alternative of anyOf) addHomes(homes, alternative, path);
}

/** Names the right place of a member that is in a wrong one. */
function unknownMember(pointer: string, homes: ReadonlyMap<string, string>): string {
  const home = homes.get(pointer.slice(pointer.lastIndexOf('/') + 1));
  return home === undefined ? 'is not known; leave it out, or correct its name' : `is not known here; write it as ${home}`;
}

function problemsOf(error: TLocalizedValidationError, homes: ReadonlyMap<string, string>): readonly RequestProblem[] {
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        pointer: pointerTo(error.instancePath, name),
        detail: 'is required',
      }));
    // An unknown member of a closed object fails its schema `false`. The summary error for all unknown members adds nothing.
    case 'boolean':
      return [{ pointer: error.instancePath, detail: unknownMember(error.instancePath, homes) }];
    case 'additionalProperties':
    // A member that may be null has a union as its schema. The error of the other alternative is enough.
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
