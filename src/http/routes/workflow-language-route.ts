import { entityTag } from '#automations/entity-tag.ts';
import { Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { workflowLanguage } from '#workflows/language.ts';
import { type ApiRoute, route } from '../route.ts';
import { ifNoneMatchDocs, taggedReply } from './resources.ts';
import { catalogueReading } from './route-traits.ts';

/** What an editor of workflows completes. The reply is the same until the gateway has another version. */
export function workflowLanguageRoute(): ApiRoute {
  const body = JSON.stringify(workflowLanguage());
  const headers = { ETag: entityTag(body) };
  return readWorkflowLanguage.serve((request) => taggedReply(request, { headers, mediaType: 'application/json', body }));
}

const readWorkflowLanguage = route('GET /automation_catalog/workflows/language', {
  ...catalogueReading,
  tag: 'workflows',
  operationId: 'readWorkflowLanguage',
  summary: 'Read the language of workflow documents',
  description:
    'What the gateway knows of documents, from the tables that its checks use: for editors. Members are paths with dots, such as `catch.retry.delay`; `*` is a name that the author chooses.',
  requestHeaders: ifNoneMatchDocs,
  reply: {
    description: 'The language that this version of the gateway reads.',
    schema: namedObject('WorkflowLanguage', {
      document: Type.Array(Type.String(), { description: 'The members of a document, without those of its tasks.' }),
      tasks: Type.Array(
        namedObject('WorkflowTaskKind', {
          name: Type.String({ description: 'The member that makes the kind of the task.' }),
          members: Type.Array(Type.String(), { description: 'All members of such a task.' }),
        }),
      ),
      functions: Type.Array(
        namedObject('WorkflowFunction', {
          name: Type.String({ description: 'For `call`.' }),
          with: Type.Array(Type.String(), { description: 'The arguments.' }),
          role: Type.Optional(
            Type.String({
              description: 'The role, next to admin, that may make the call without a right; missing if none is needed.',
            }),
          ),
        }),
      ),
      variables: Type.Array(
        namedObject('WorkflowVariable', {
          name: Type.String({ description: 'With its `$`.' }),
          places: Type.Array(Type.String(), {
            description:
              'Where expressions have it: at `workflowInput`, `taskInput`, `task`, `taskExport` or `workflowOutput`, or in a kind of task.',
          }),
        }),
      ),
      errors: Type.Array(Type.String(), { description: 'The types of the errors that tasks raise by themselves.' }),
    }),
    headers: { ETag: 'Entity tag of the language.' },
  },
  otherReplies: [{ status: 304, description: 'The caller has this language.', headers: { ETag: 'Its entity tag.' } }],
  example: {
    reply: {
      document: ['document', 'document.dsl'],
      tasks: [{ name: 'wait', members: ['wait', 'wait.days', 'if', 'then'] }],
      functions: [{ name: 'orchestratorQuery', with: ['adapter', 'params', 'params.path'], role: 'admin' }],
      variables: [{ name: '$context', places: ['taskInput', 'task', 'taskExport', 'workflowOutput'] }],
      errors: ['https://serverlessworkflow.io/spec/1.0.0/errors/timeout'],
    },
  },
});
