import type { TLocalizedValidationError } from 'typebox/error';
import type { RequestProblem } from '#base/gateway-error.ts';
import type { JsonSchema } from '#base/json-schema.ts';
import { maxProblems } from './problem-list.ts';
import { placesOf, unknownMember } from './schema-wording.ts';

const none: readonly RequestProblem[] = [];

/** The problems of a value. */
type SchemaJudge = (value: unknown) => readonly RequestProblem[];

/** Loads the library, whose 235 modules an idle gateway does not need. */
export async function schemaJudge(schema: JsonSchema): Promise<SchemaJudge> {
  const [{ Compile }, { Settings }] = await Promise.all([import('typebox/schema'), import('typebox/system')]);
  const validator = Compile(schema);
  const homes = new Map<string, string>();
  addHomes(homes, schema, '');
  return (value) => {
    if (validator.Check(value)) return none;
    // The default is 8. Read on each call.
    Settings.Set({ maxErrors: maxProblems });
    const [, errors] = validator.Errors(value);
    const problems = errors.flatMap((error) => problemsOf(error, homes));
    // Never empty for a mismatch, even if the library reports none.
    return problems.length > 0 ? problems : [{ pointer: '', detail: 'does not match the schema of this route' }];
  };
}

/** As `schemaJudge`, with the first value. */
export function schemaProblems(schema: JsonSchema): (value: unknown) => Promise<readonly RequestProblem[]> {
  let judging: ReturnType<typeof schemaJudge> | undefined;
  return async (value) => (await (judging ??= schemaJudge(schema)))(value);
}

interface Members {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
}

/** Where a member belongs, as `data.description`: the outermost place of its name. */
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

function problemsOf(error: TLocalizedValidationError, homes: ReadonlyMap<string, string>): readonly RequestProblem[] {
  // A member that may be null: the error of the other alternative is enough.
  if (error.keyword === 'anyOf' || (error.keyword === 'type' && error.params.type === 'null')) return [];
  return placesOf(error).map(([pointer, detail]) => {
    const home = detail === unknownMember ? homes.get(pointer.slice(pointer.lastIndexOf('/') + 1)) : undefined;
    return { pointer, detail: home === undefined ? detail : `is not known here; write it as ${home}` };
  });
}
