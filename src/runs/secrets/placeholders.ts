import { createHmac } from 'node:crypto';
import type { SecretRule } from '#access/rights/secret-rule.ts';
import type { Secret } from '#base/secret.ts';

/** Characters of the common beginning of a run's placeholders, and of the rest. */
const tagLength = 20;
const leafLength = 20;

/** A part of a secret that has a placeholder. */
interface Leaf {
  readonly secret: string;
  /** JSON pointer into the object that the secret is; empty: the whole text. */
  readonly pointer: string;
}

/** Each holder of the run makes the same ones, so that a call stays the same after a crash. */
export interface Placeholders {
  /** The common beginning. */
  readonly tag: string;
  /** Matches each of them, and what begins as one. */
  readonly pattern: RegExp;
  of(leaf: Leaf): string;
  /** `$secrets.NAME` as JSON text, where the secret has this text. */
  variable(secret: string, text: string): string;
  /** Of Basic credentials: `username:password` has one placeholder for each of both. */
  pair(secret: string): string;
}

/** `seed`: of the run, which no expression and no reader sees. */
export function createPlaceholders(seed: string): Placeholders {
  const derived = (what: string, length: number): string =>
    lettersAndDigits(createHmac('sha256', seed).update(what).digest('hex'), length);
  // A letter first: a JSON number never has it.
  const tag = `s${derived('secrets', tagLength - 1)}`;
  const of = ({ secret, pointer }: Leaf): string => `${tag}${derived(JSON.stringify([secret, pointer]), leafLength)}`;
  return {
    tag,
    pattern: new RegExp(`${tag}[a-z0-9]{0,${leafLength}}`, 'gu'),
    of,
    variable: (secret, text) => variableOf(objectIn(text), (pointer) => of({ secret, pointer })),
    pair: (secret) =>
      JSON.stringify({ username: of({ secret, pointer: userPart }), password: of({ secret, pointer: passwordPart }) }),
  };
}

/** No JSON pointer: the parts of `username:password`. */
const userPart = 'username';
const passwordPart = 'password';

/** In lower case: a host name is compared in any case. */
function lettersAndDigits(hex: string, length: number): string {
  return BigInt(`0x${hex}`).toString(36).padStart(length, '0').slice(-length);
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

function objectIn(text: string): Json | undefined {
  if (!/^\s*\{/u.test(text)) return undefined;
  try {
    return JSON.parse(text, withDigits) as Json;
  } catch {
    return undefined;
  }
}

/** A number stays as it is written. */
function withDigits(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' ? source : value;
}

/** The object with a placeholder in place of each leaf. A null hides nothing. */
function variableOf(value: Json | undefined, placeholder: (pointer: string) => string, at = ''): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.map((item, index) => variableOf(item, placeholder, `${at}/${index}`)).join(',')}]`;
  if (typeof value !== 'object') return JSON.stringify(placeholder(at));
  const members = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${variableOf(inner, placeholder, `${at}/${escapePointer(name)}`)}`,
  );
  return `{${members.join(',')}}`;
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The texts of the leaves of a secret, by pointer. */
export function leavesOf(text: string): ReadonlyMap<string, string> {
  const object = objectIn(text);
  const leaves = new Map<string, string>();
  const note = (value: Json, at: string): void => {
    if (value === null) return;
    if (typeof value !== 'object') leaves.set(at, String(value));
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) note(item as Json, `${at}/${index}`);
    else for (const [name, inner] of Object.entries(value)) note(inner, `${at}/${escapePointer(name)}`);
  };
  note(object ?? text, '');
  const colon = text.indexOf(':');
  if (object === undefined && colon >= 0) {
    leaves.set(userPart, text.slice(0, colon));
    leaves.set(passwordPart, text.slice(colon + 1));
  }
  return leaves;
}

/** A secret of workflows, with the uses that the operator allows. */
export interface SealedSecret extends SecretRule {
  readonly value: Secret;
}

/** By name: `automations.secrets` of the configuration. */
export type SealedSecrets = Readonly<Record<string, SealedSecret>>;

export interface SecretUser {
  /** Of the run: expressions and readers never see it. */
  readonly seed: string;
  /** The id of the workflow. */
  readonly workflow: string;
  /** What the document lists in `use.secrets`. */
  readonly names: readonly string[];
  /** What people filled into fields with the format `password`. Absent: nothing. */
  readonly passwords?: FilledPasswords | undefined;
}

export interface FilledPasswords {
  /** Names of the fields. */
  readonly fields: readonly string[];
  readonly values: readonly string[];
}
