import { invalidValue } from '../model/orchestrator-error.ts';

/** Query parameters by name, decoded; a parameter without `=` is the empty string. */
export type Parameters = ReadonlyMap<string, string>;

const readNames = [
  'content',
  'depth',
  'fields',
  'exclude',
  'with-defaults',
  'with-origin',
  'with-service-meta-data',
  'limit',
  'offset',
];

const commitNames = [
  'dry-run',
  'dry-run-reverse',
  'no-networking',
  'no-out-of-sync-check',
  'no-overwrite',
  'no-revision-drop',
  'no-deploy',
  'reconcile',
  'use-lsa',
  'no-lsa',
  'commit-queue',
  'commit-queue-atomic',
  'commit-queue-block-others',
  'commit-queue-lock',
  'commit-queue-tag',
  'commit-queue-timeout',
  'commit-queue-error-option',
  'rollback-comment',
  'rollback-label',
  'rollback-id',
  'comment',
  'label',
  'trace-id',
];

/** The allowed parameters for each use (see README.md). */
export const allowedParameters = {
  read: new Set([...readNames, 'unhide']),
  write: new Set([...commitNames, 'unhide']),
  writeWithParams: new Set(['params', 'rollback-id', 'with-service-meta-data', 'unhide']),
  action: new Set(['unhide']),
  legacyRead: new Set(['deep', 'shallow', 'select', 'offset', 'limit', 'format', 'verbose']),
  legacyWrite: new Set([...commitNames, 'format', 'insert', 'resource']),
} as const;

/**
 * Reads a raw query string (without `?`).
 * @throws OrchestratorError 400 for an unknown parameter, a repeated one, and bad percent-encoding.
 */
export function readParameters(query: string, allowed: ReadonlySet<string>): Parameters {
  const parameters = new Map<string, string>();
  for (const piece of query.split('&').filter((piece) => piece !== '')) {
    const at = piece.indexOf('=');
    const name = decoded(at < 0 ? piece : piece.slice(0, at));
    if (!allowed.has(name)) throw invalidValue(`invalid query parameter: ${name}`);
    if (parameters.has(name)) throw invalidValue(`query parameter ${name} occurs more than once`);
    parameters.set(name, at < 0 ? '' : decoded(piece.slice(at + 1)));
  }
  return parameters;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidValue(`bad percent-encoding in the query string: ${text}`);
  }
}

/** A whole number of at least `least`, or `otherwise` where the parameter is absent or `unbounded`. */
export function numberParameter(parameters: Parameters, name: string, least: number, otherwise: number): number {
  const text = parameters.get(name);
  if (text === undefined || text === 'unbounded') return otherwise;
  const value = /^\d{1,9}$/u.test(text) ? Number(text) : -1;
  if (value < least) throw invalidValue(`invalid value for query parameter ${name}: ${text}`);
  return value;
}

/** One of `values`, or undefined where the parameter is absent; a bare `?name` is the first. */
export function choiceParameter<Value extends string>(
  parameters: Parameters,
  name: string,
  values: readonly [Value, ...Value[]],
): Value | undefined {
  const text = parameters.get(name);
  if (text === undefined) return undefined;
  const value = text === '' ? values[0] : values.find((candidate) => candidate === text);
  if (value === undefined) throw invalidValue(`invalid value for query parameter ${name}: ${text}`);
  return value;
}

/** True for `?name` and `?name=true`. */
export function flagParameter(parameters: Parameters, name: string): boolean {
  return choiceParameter(parameters, name, ['true', 'false']) === 'true';
}

/**
 * The parameters of a write by NSO 6.7, in the form of earlier ones. They are base64 of a JSON object, in `params` or in the header
 * `X-Cisco-NSO-Commit-Params`. We assume that it refuses the single parameters of earlier versions, and an object in both places.
 */
export function readCommitParameters(query: string, header: string | undefined): Parameters {
  const { writeWithParams } = allowedParameters;
  const given = readParameters(query, writeWithParams);
  const encoded = given.get('params') ?? header;
  if (given.has('params') && header !== undefined) throw invalidValue('commit parameters in the query and in a header');
  const all = new Map([...given].filter(([name]) => name !== 'params'));
  if (encoded === undefined) return all;
  for (const [written, value] of Object.entries(decodedObject(encoded))) {
    const name = written.replace(/^tailf-ncs-commit-params:/u, '');
    if (!commitNames.includes(name)) throw invalidValue(`invalid commit parameter: ${name}`);
    if (name === 'dry-run') setDryRun(all, value);
    else all.set(name, typeof value === 'string' ? value : '');
  }
  return all;
}

function setDryRun(all: Map<string, string>, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw invalidValue('dry-run is a container');
  const members: Readonly<Record<string, unknown>> = { ...value };
  const { outformat } = members;
  all.set('dry-run', typeof outformat === 'string' ? outformat : '');
  if ('reverse' in members) all.set('dry-run-reverse', '');
}

function decodedObject(encoded: string): object {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The error below is for text that is not JSON too.
  }
  throw invalidValue('commit parameters must be base64 of a JSON object');
}
