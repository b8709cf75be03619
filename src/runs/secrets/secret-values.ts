import { createMask, type Mask, textMask } from './mask.ts';
import type { SealedSecrets, SecretUser } from './placeholders.ts';
import { createRunSecrets, type RunSecrets } from './run-secrets.ts';

export interface SecretValues {
  ofRun(run: SecretUser): RunSecrets;
  mask(jsonText: string): string;
  /** As `mask`, for a text that is no JSON. */
  maskText(text: string): string;
}

/** Former values that are masked. */
const maxFormer = 100;

/** `secrets`: called each time, since a reload replaces them. */
export function createSecretValues(secrets: () => SealedSecrets): SecretValues {
  let present: readonly string[] = [];
  let former: readonly string[] = [];
  let mask: Mask = (text) => text;
  const current = (): Mask => {
    const now = Object.values(secrets()).map(({ value }) => value.reveal());
    if (now.length !== present.length || now.some((value, index) => value !== present[index])) {
      // What a source gave before may still come back in a reply.
      former = [...new Set([...present, ...former])].filter((value) => !now.includes(value)).slice(0, maxFormer);
      present = now;
      mask = createMask([...now, ...former].flatMap(secretTexts));
    }
    return mask;
  };
  const maskText = textMask((text) => current()(text));
  return { ofRun: (run) => createRunSecrets(run, secrets, maskText), mask: (jsonText) => current()(jsonText), maskText };
}

/** Characters of a member other than `password` and `token`: a shorter one may be a region, or a number of seconds. */
const minLength = 8;

/**
 * The texts that give a secret away: the whole of it, and the parts that a workflow may use by themselves. These are the password of
 * `username:password`, and of the JSON text of an object its `password`, its `token` and its longer members. A user name is no secret:
 * people would miss it in what upstreams say.
 */
function secretTexts(text: string): readonly string[] {
  if (!/^\s*\{/u.test(text)) return [text, text.slice(text.indexOf(':') + 1)];
  const values = valuesIn(text);
  const of = (wanted: string): readonly string[] => values.flatMap(({ name, value }) => (name === wanted ? [value] : []));
  const sent = of('username').flatMap((user) => of('password').map((password) => `${user}:${password}`));
  const long = values.filter(({ name, value }) => name !== 'username' && value.length >= minLength);
  return [text, ...sent, ...of('password'), ...of('token'), ...long.map(({ value }) => value)];
}

/** Strings, those before a colon, which are names, and numbers. */
const tokens = /("(?:[^"\\]|\\.)*")\s*(:?)|[^\s{}[\]:,"]+/gsu;

/** The strings and numbers of a JSON text, each with the last name before it. As jq does, it takes texts that JSON does not allow. */
function valuesIn(text: string): readonly { readonly name: string; readonly value: string }[] {
  let name = '';
  return [...text.matchAll(tokens)].flatMap(([word, string, colon]) => {
    if (string === undefined) return [{ name, value: word }];
    const value = unescape(string);
    if (colon === '') return [{ name, value }];
    name = value;
    return [];
  });
}

/** As written, where the string has an escape that JSON does not know. */
function unescape(token: string): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    return token.slice(1, -1);
  }
}
