import { Type } from '#base/json-schema.ts';
import { type PageOptions, pageDocs, readFilterText, readOptions, readPage } from './list-options.ts';

interface WorkflowListOptions extends PageOptions {
  /** A principal by its exact id or name. */
  readonly storer?: string;
  /** In the id or the title. */
  readonly contains?: string;
}

const texts = ['storer', 'contains'] as const;

function readWorkflowListOptions(query: URLSearchParams): WorkflowListOptions {
  return readOptions(query, ['limit', 'skip', ...texts], (given, problems) => {
    const [storer, contains] = texts.map((name) => {
      const option = given.get(name);
      return option && readFilterText(option, problems);
    });
    return {
      ...readPage(given, problems),
      ...(storer !== undefined && { storer }),
      ...(contains !== undefined && { contains }),
    };
  });
}

/** The options of the listing of workflows, and what the documentation says of them. */
export const workflowListQuery = {
  parameters: {
    ...pageDocs('workflows'),
    contains: {
      description: 'Only workflows whose id or title contains this text, ignoring case.',
      schema: Type.String(),
    },
    storer: {
      description:
        'Only versions that this principal, by its exact id or name, lends its rights: it stored them first, or took them last.',
      schema: Type.String(),
    },
  },
  read: readWorkflowListOptions,
};
