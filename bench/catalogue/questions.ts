import { type TextField, textFields } from '../../src/automations/automation.ts';
import type { ListOptions, TextFilter } from '../../src/automations/list-options.ts';
import { documentOf, groupNames, needles } from './documents.ts';

/** Callers whose listings are measured; each sees a different part of the catalogue. */
export const viewers = [
  { name: 'admin', seesAll: true, groups: [] },
  { name: 'one group', seesAll: false, groups: groupNames.slice(0, 1) },
  { name: 'three groups', seesAll: false, groups: groupNames.slice(0, 3) },
] as const;

export type Viewer = (typeof viewers)[number];

/** A listing that is measured for every caller, in both orders. */
export interface Question {
  readonly name: string;
  /** `total`: number of documents that the viewer sees and the filters match. */
  options(total: number): Omit<ListOptions, 'order'>;
}

const page = 100;

interface Listed {
  readonly sort?: TextField;
  readonly limit?: number;
  readonly filters?: readonly TextFilter[];
  /** 0 is the first page, 1 the last one. */
  readonly depth?: number;
}

function question(name: string, { sort = 'name', limit = page, filters = [], depth = 0 }: Listed): Question {
  return { name, options: (total) => ({ sort, limit, filters, skip: Math.max(0, Math.round((total - limit) * depth)) }) };
}

function filter(kind: TextFilter['kind'], text: string, field: TextField = 'name'): TextFilter {
  return { kind, field, text };
}

/** A name that exists. */
const exactName = documentOf(1).name;

export const questions: readonly Question[] = [
  question('`total` alone', { limit: 0 }),
  ...textFields.map((sort) => question(`first page by ${sort}`, { sort })),
  question('first page of 1,000', { limit: 1000 }),
  question('name starts with one letter', { filters: [filter('startsWith', 'r')] }),
  question('name starts with two words', { filters: [filter('startsWith', 'Audit VLANs Z')] }),
  question('name starts as only one does', { filters: [filter('startsWith', exactName.slice(0, -1))] }),
  question('name starts as none does', { filters: [filter('startsWith', needles.none)] }),
  question('name starts with one letter, last page', { filters: [filter('startsWith', 'r')], depth: 1 }),
  question('name equals', { filters: [filter('equals', exactName)] }),
  ...textFields.map((sort) => question(`deepest page by ${sort}`, { sort, depth: 1 })),
  ...textFields.map((sort) => question(`middle page by ${sort}`, { sort, depth: 0.5 })),
  ...(['name', 'data.description'] as const).flatMap((field) =>
    (['rare', 'common', 'none'] as const).map((needle) =>
      question(`${field} contains, ${needle}`, { filters: [filter('contains', needles[needle], field)] }),
    ),
  ),
  question('name contains, common, last page', { filters: [filter('contains', needles.common)], depth: 1 }),
  question('name contains, common, by data.lastUpdated', {
    filters: [filter('contains', needles.common)],
    sort: 'data.lastUpdated',
  }),
  question('data.description contains, rare, by nextRunAt', {
    filters: [filter('contains', needles.rare, 'data.description')],
    sort: 'nextRunAt',
  }),
  question('name starts with one letter, by data.lastUpdated', {
    filters: [filter('startsWith', 'r')],
    sort: 'data.lastUpdated',
  }),
  question('lastModifiedBy equals', { filters: [filter('equals', 'user-7@example.net', 'lastModifiedBy')] }),
  question('data.workflowId equals', { filters: [filter('equals', '7'.padStart(24, 'a'), 'data.workflowId')] }),
  question('repeatInterval equals', { filters: [filter('equals', '1 day', 'repeatInterval')] }),
  question('data.description starts with two words', {
    filters: [filter('startsWith', 'Audit the', 'data.description')],
  }),
  ...([0, 0.5, 1] as const).flatMap((depth) => [
    question(`most descriptions, by nextRunAt, at ${depth}`, {
      filters: [filter('contains', 'report', 'data.description')],
      sort: 'nextRunAt',
      depth,
    }),
    question(`three filters, by lastModifiedBy, at ${depth}`, {
      filters: [
        filter('contains', 'e', 'data.description'),
        filter('startsWith', '1', 'repeatInterval'),
        filter('contains', 'a'),
      ],
      sort: 'lastModifiedBy',
      depth,
    }),
  ]),
];
