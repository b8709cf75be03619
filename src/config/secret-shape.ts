import { resolve } from 'node:path';
import { isMap, isScalar } from 'yaml';
import { Secret } from '#base/secret.ts';
import { entriesOf, type Place, scalarOf, wrongKind } from './place.ts';
import { readRegularFile } from './regular-file.ts';
import { isUntagged, type Shape } from './shape.ts';

const secretFileLimit = 65_536;
const forms = '{ env: NAME } or { file: PATH }';

/** What is wrong with the resolved text, without quoting the text; undefined if it is valid. */
type SecretFault = (value: string) => string | undefined;

/**
 * `{ env: NAME }`, `{ file: PATH }` (at most 64 KiB, without one final newline), or plain text with a warning.
 * No message holds any part of the value.
 */
export function secret({ refuse }: { readonly refuse?: SecretFault } = {}): Shape<Secret> {
  return {
    type: 'secret',
    async read(place) {
      const value = await resolveSecret(place);
      if (value === undefined) return undefined;
      const fault = value === '' ? 'is empty' : value.isWellFormed() ? refuse?.(value) : 'is not well-formed Unicode';
      if (fault === undefined) return new Secret(value);
      place.reading.problem(place, fault);
      return undefined;
    },
  };
}

async function resolveSecret(place: Place): Promise<string | undefined> {
  const plain = scalarOf(place);
  if (typeof plain === 'string') {
    if (!isUntagged(place)) return undefined;
    const variable = /^\$(?:\{(\w+)\}|(\w+))$/u
      .exec(plain)
      ?.slice(1)
      .find((name) => name !== undefined);
    const looks = variable === undefined ? '' : ' and looks like a variable, which the gateway does not replace';
    const better = variable === undefined ? forms : `{ env: ${variable} }`;
    place.reading.warning(place, `is plain text in the file${looks}; write ${better}`);
    return plain;
  }
  if (!isMap(place.node)) return wrongKind(place, `${forms}${isScalar(place.node) ? ', or put the text in quotes' : ''}`);
  return resolveReference(place);
}

function resolveReference(place: Place): string | undefined | Promise<string | undefined> {
  const [entry, ...more] = entriesOf(place);
  const source = entry === undefined ? undefined : scalarOf(entry.value);
  if (entry === undefined || more.length > 0 || typeof source !== 'string') return malformed(place);
  if (entry.key === 'env') return fromEnvironment(entry.value, source);
  return entry.key === 'file' ? fromFile(entry.value, source) : malformed(place);
}

function malformed(place: Place): undefined {
  place.reading.problem(place, `is no secret reference; write exactly ${forms}`);
  return undefined;
}

function fromEnvironment(place: Place, name: string): string | undefined {
  const { env } = place.reading;
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/u.test(name)) {
    place.reading.problem(place, 'is no name of an environment variable (letters, digits and _)');
    return undefined;
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value === undefined) place.reading.problem(place, `the environment variable ${name} is not set; set it before the start`);
  return value;
}

async function fromFile(place: Place, name: string): Promise<string | undefined> {
  const read = await readRegularFile(resolve(place.reading.directory, name), secretFileLimit);
  if ('text' in read) return read.text.replace(/\r?\n$/u, '');
  place.reading.problem(place, `the file ${read.fault}`);
  return undefined;
}

/** For secrets in an HTTP header (RFC 9110 section 5.5): visible ASCII, with spaces and tabs between. */
export function headerValueFault(value: string): string | undefined {
  if (/^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/u.test(value)) return undefined;
  return 'cannot be sent in an HTTP header: it has characters other than visible ASCII, or white space at an end (a stray newline?)';
}

/** For bearer tokens (RFC 6750 section 2.1). */
export function bearerTokenFault(value: string): string | undefined {
  return /^[A-Za-z0-9._~+/-]+=*$/u.test(value)
    ? undefined
    : 'is no bearer token (RFC 6750): it has other characters than A-Z a-z 0-9 . _ ~ + / - =';
}

/** For passwords of HTTP Basic (RFC 7617 section 2): no control characters. */
export function basicPasswordFault(value: string): string | undefined {
  return /\p{Cc}/u.test(value) ? 'holds a control character, which HTTP Basic does not allow (a stray newline?)' : undefined;
}
