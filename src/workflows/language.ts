import { operations } from '#access/rights/operations.ts';
import { operationOf } from './call-operations.ts';
import { errorTypes } from './error-types.ts';
import { argumentMembers, isShaped } from './reader/calls/call-shapes.ts';
import { variablePlaces } from './reader/context.ts';
import {
  baseMembers,
  batchMembers,
  documentMembers,
  httpMembers,
  type MemberTable,
  openapiMembers,
  taskKindMembers,
} from './reader/member-table.ts';
import { type FunctionName, functionNames } from './workflow.ts';

/** What the reader knows of documents, for editors. Members are paths with dots: `catch.retry.delay`. `*` is a name that the author chooses. */
interface WorkflowLanguage {
  readonly document: readonly string[];
  readonly tasks: readonly { readonly name: string; readonly members: readonly string[] }[];
  readonly functions: readonly { readonly name: string; readonly with: readonly string[]; readonly role?: string }[];
  readonly variables: readonly { readonly name: string; readonly places: readonly string[] }[];
  readonly errors: readonly string[];
}

export function workflowLanguage(): WorkflowLanguage {
  return {
    document: pathsOf(documentMembers),
    tasks: Object.entries(taskKindMembers).map(([name, members]) => ({ name, members: pathsOf({ ...members, ...baseMembers }) })),
    functions: [
      ...functionNames.map((name) => ({ name, with: pathsOf(argumentsOf(name)), ...roleOf(name) })),
      { name: 'batch', with: pathsOf(batchMembers) },
    ],
    variables: variablePlaces().map(({ name, places }) => ({ name: `$${name}`, places })),
    errors: errorTypes(),
  };
}

function pathsOf(table: MemberTable): readonly string[] {
  return Object.entries(table).flatMap(([name, inner]) => [name, ...pathsOf(inner).map((path) => `${name}.${path}`)]);
}

function argumentsOf(name: FunctionName): MemberTable {
  if (isShaped(name)) return argumentMembers(name);
  return name === 'http' ? httpMembers : openapiMembers;
}

/** The role, next to admin, that may make the call without a right; none for a call that sends nothing. */
function roleOf(name: FunctionName): { readonly role?: string } {
  if (name === 'approval') return {};
  const role = operations[operationOf[name]].at(-1);
  return role === undefined ? {} : { role };
}
