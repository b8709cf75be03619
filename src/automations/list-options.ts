import { createProblemList, invalidRequest, type ProblemList } from '#json/problem-list.ts';
import { type TextField, textFields } from './automation.ts';
import { type GivenOption, readGivenOptions } from './query-form.ts';

export const filterKinds = ['contains', 'equals', 'startsWith'] as const;

export interface TextFilter {
  readonly kind: (typeof filterKinds)[number];
  readonly field: TextField;
  /** As the caller wrote it; it is folded like the sort key before the comparison. */
  readonly text: string;
}

export const personKinds = ['owner', 'author', 'scheduler'] as const;

export interface PersonFilter {
  readonly kind: (typeof personKinds)[number];
  /** Id or name, exact. */
  readonly person: string;
}

/** The options of a listing. */
export interface ListOptions {
  /** 0 to 1,000; 0 requests the counts alone. */
  readonly limit: number;
  readonly skip: number;
  readonly sort: TextField;
  /** -1 is the exact reverse of 1. */
  readonly order: 1 | -1;
  /** All of them must match. */
  readonly filters: readonly TextFilter[];
  /** All of them must match too. */
  readonly people?: readonly PersonFilter[];
}

/** The largest page, and the default. */
export const pageSize = { most: 1000, usual: 100 } as const;

const optionNames = [
  'limit',
  'skip',
  'sort',
  'order',
  'contains',
  'containsField',
  'equals',
  'equalsField',
  'startsWith',
  'startsWithField',
  ...personKinds,
] as const;

type Given = ReadonlyMap<(typeof optionNames)[number], GivenOption>;

/**
 * Reads the query string of a listing. Throws `invalid-request` (400) with every problem at once, its pointers as GivenOption
 * has them. Nothing is coerced: in a query parameter an integer is decimal digits, in the JSON form a number.
 */
export function readListOptions(query: URLSearchParams): ListOptions {
  const problems = createProblemList();
  const given = readGivenOptions({ query, known: optionNames, problems });
  const people = personKinds.flatMap((kind) => readPerson(given, kind, problems));
  const options: ListOptions = {
    ...readPage(given, problems),
    sort: readField(given.get('sort'), problems),
    order: readOrder(given.get('order'), problems),
    filters: filterKinds.flatMap((kind) => readFilter(given, kind, problems)),
    ...(people.length > 0 && { people }),
  };
  if (problems.problems.length > 0) throw invalidRequest(problems.problems);
  return options;
}

const pageNames = ['limit', 'skip'] as const;

/** Reads the query string of a listing that has only pages; see readListOptions. */
export function readPageOptions(query: URLSearchParams): Pick<ListOptions, (typeof pageNames)[number]> {
  const problems = createProblemList();
  const page = readPage(readGivenOptions({ query, known: pageNames, problems }), problems);
  if (problems.problems.length > 0) throw invalidRequest(problems.problems);
  return page;
}

/** As `readPageOptions`, with `storer`: a principal by its exact id or name. */
export function readWorkflowListOptions(
  query: URLSearchParams,
): ReturnType<typeof readPageOptions> & { readonly storer?: string } {
  const problems = createProblemList();
  const given = readGivenOptions({ query, known: [...pageNames, 'storer'], problems });
  const option = given.get('storer');
  const storer = option && readText(option, problems);
  const page = readPage(given, problems);
  if (problems.problems.length > 0) throw invalidRequest(problems.problems);
  return { ...page, ...(storer !== undefined && { storer }) };
}

function readPage(given: ReadonlyMap<string, GivenOption>, problems: ProblemList): Pick<ListOptions, (typeof pageNames)[number]> {
  return {
    limit: readInteger(given.get('limit'), { least: 0, most: pageSize.most, usual: pageSize.usual, problems }),
    skip: readInteger(given.get('skip'), { least: 0, most: Number.MAX_SAFE_INTEGER, usual: 0, problems }),
  };
}

interface IntegerRule {
  readonly least: number;
  readonly most: number;
  readonly usual: number;
  readonly problems: ProblemList;
}

function readInteger(given: GivenOption | undefined, { least, most, usual, problems }: IntegerRule): number {
  if (given === undefined) return usual;
  const value = integerOf(given);
  if (value !== undefined && value >= least && value <= most) return value;
  problems.add(given.pointer, `must be an integer from ${least} to ${most}, ${wayToWrite(given)}`);
  return usual;
}

function readOrder(given: GivenOption | undefined, problems: ProblemList): 1 | -1 {
  if (given === undefined) return 1;
  const value = integerOf(given);
  if (value === 1 || value === -1) return value;
  problems.add(given.pointer, `must be 1 (from a to z) or -1 (from z to a), ${wayToWrite(given)}`);
  return 1;
}

function wayToWrite({ value }: GivenOption): string {
  return value.kind === 'text' ? 'in decimal digits without a leading zero or plus sign' : 'as a JSON number';
}

/** Undefined where the value is no integer, or one that a number cannot hold exactly. */
function integerOf({ value }: GivenOption): number | undefined {
  if (value.kind !== 'number' && !(value.kind === 'text' && /^(?:0|-?[1-9][0-9]*)$/u.test(value.text))) return undefined;
  const number = Number(value.text);
  return Number.isSafeInteger(number) ? number : undefined;
}

function readFilter(given: Given, kind: TextFilter['kind'], problems: ProblemList): readonly TextFilter[] {
  const filter = given.get(kind);
  const named = given.get(`${kind}Field`);
  const field = readField(named, problems);
  if (filter === undefined) {
    if (named !== undefined) problems.add(named.pointer, `needs ${kind} too: give both, or leave it out`);
    return [];
  }
  const text = readText(filter, problems);
  return text === undefined ? [] : [{ kind, field, text }];
}

function readPerson(given: Given, kind: PersonFilter['kind'], problems: ProblemList): readonly PersonFilter[] {
  const option = given.get(kind);
  const person = option && readText(option, problems);
  return person === undefined ? [] : [{ kind, person }];
}

function readText(option: GivenOption, problems: ProblemList): string | undefined {
  const text = textIn(option);
  if (text === undefined) problems.add(option.pointer, 'must be a string');
  else if (!text.isWellFormed())
    problems.add(option.pointer, 'holds a lone surrogate escape: write both halves, or another character');
  return text;
}

/** `name` where none is given. */
function readField(given: GivenOption | undefined, problems: ProblemList): TextField {
  if (given === undefined) return 'name';
  const text = textIn(given);
  const field = textFields.find((candidate) => candidate === text);
  if (field === undefined) problems.add(given.pointer, `must be one of ${textFields.join(', ')}`);
  return field ?? 'name';
}

function textIn({ value }: GivenOption): string | undefined {
  if (value.kind === 'text') return value.text;
  return value.kind === 'string' ? value.value : undefined;
}
