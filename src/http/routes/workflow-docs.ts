import { Type } from '#base/json-schema.ts';
import type { Route } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { workflowSizeLimit } from '#workflows/read-workflow.ts';
import { functionNames } from '#workflows/workflow.ts';

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const place = Type.Integer({ minimum: 1 });

/** What the documentation shows of a document; its whole form is that of the DSL. */
export const documentSchema = Type.Object(
  {
    document: Type.Object(
      {
        dsl: Type.String({ description: 'The version of the DSL, 1.0.x.' }),
        namespace: text,
        name: text,
        version: Type.String({ description: 'A semantic version.' }),
        title: Type.Optional(text),
        summary: Type.Optional(text),
      },
      { title: 'WorkflowName' },
    ),
    do: Type.Array(Type.Unknown(), { description: 'The tasks, each an object with one member, whose name is that of the task.' }),
  },
  { title: 'WorkflowDocument', description: 'A document of the Serverless Workflow DSL 1.0, in YAML 1.2 or JSON.' },
);

export const documentBody: NonNullable<Route['body']> = {
  kind: 'document',
  mediaTypes: ['application/json', 'application/yaml'],
  limit: workflowSizeLimit,
  schema: documentSchema,
};

const problems = Type.Array(
  namedObject('WorkflowProblem', {
    pointer: Type.String({ description: 'RFC 6901 JSON pointer into the document.' }),
    detail: Type.String({ description: 'What is wrong, and what to do.' }),
    line: place,
    column: place,
  }),
);

export const checkedSchema = namedObject('CheckedWorkflow', {
  errors: problems,
  warnings: problems,
  document: Type.Optional(
    Type.Unknown({ description: 'The document as JSON, also one with errors; missing where its text cannot be read.' }),
  ),
});

const summary = {
  id: Type.String({ description: '`namespace.name`.' }),
  version: text,
  title: Type.Optional(text),
  calls: Type.Array(Type.Enum([...functionNames]), { description: 'The functions that the workflow may call itself.' }),
  createdAt: Type.String({ format: 'date-time' }),
  createdBy: text,
};

export const storedSchema = namedObject('StoredWorkflow', { ...summary, warnings: problems });

export const listSchema = namedObject('WorkflowList', {
  list: Type.Array(
    namedObject('ListedWorkflow', {
      ...summary,
      versions: Type.Array(text, { description: 'All versions, the newest first, pre-releases included.' }),
    }),
  ),
  total: count,
  skip: count,
  limit: count,
});

export const takenSchema = namedObject('TakenWorkflow', { id: text, versions: Type.Array(text) });

export const versionParameter = {
  name: 'version',
  description:
    'A version; without it the highest release by semantic versioning, or where there is none the highest pre-release.',
  schema: text,
};

export const exampleName = { id: 'lab.sync', version: '1.0.0' };

export const exampleDocument = {
  document: { dsl: '1.0.3', namespace: 'lab', name: 'sync', version: '1.0.0' },
  do: [{ check: { call: 'restCall', with: { uri: 'https://example.net/status', verb: 'GET' } } }],
};
