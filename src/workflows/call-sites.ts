import type { CallLiterals, CallTask, ExternalResource, FunctionName } from './workflow.ts';

/** A place in a document. Line and column are absent where the document was read without them. */
interface Site {
  /** RFC 6901. */
  readonly pointer: string;
  readonly line?: number;
  readonly column?: number;
}

/** A place that sends something. What of its arguments is an expression is absent. */
export interface CallSite extends Site, CallLiterals {
  readonly function: Exclude<FunctionName, 'approval'>;
}

/** A place that runs another workflow; the first, where there are several of the same version. */
export interface RunSite extends Partial<Site> {
  readonly id: string;
  readonly version: string;
}

/** What a task sends: nothing where it asks people, and for `call: openapi` the request for its document too. */
export function sitesOf({ function: name, reference: pointer, literals, document }: CallTask): readonly CallSite[] {
  if (name === 'approval') return [];
  const call: CallSite = { pointer, function: name, ...literals };
  return document === undefined ? [call] : [fetchSite(pointer, document), call];
}

/** A document that a run fetches: a GET by `call: http`. */
export function fetchSite(pointer: string, { endpoint: { constant } }: ExternalResource): CallSite {
  const { uri } = constant === undefined ? {} : (JSON.parse(constant) as { readonly uri?: unknown });
  return { pointer, function: 'http', method: 'GET', ...(typeof uri === 'string' && { path: uri }) };
}
