import type { Secret } from '#base/secret.ts';
import { createMask, type Mask } from './mask.ts';

/** The secrets of workflows: `automations.secrets` of the configuration. */
export interface SecretValues {
  /** `$secrets` with these names as JSON text, or the names that the configuration does not have. */
  variable(names: readonly string[]): { readonly text: string } | { readonly missing: readonly string[] };
  /** See `createMask`. */
  mask(jsonText: string): string;
  /** As `mask`, for a text that is no JSON. */
  maskText(text: string): string;
}

/** `secrets` is asked each time, since a reload replaces them. */
export function createSecretValues(secrets: () => Readonly<Record<string, Secret>>): SecretValues {
  let masked: Readonly<Record<string, Secret>> | undefined;
  let mask: Mask = (text) => text;
  const current = (): Mask => {
    const now = secrets();
    if (now !== masked) {
      masked = now;
      mask = createMask(Object.values(now).flatMap((secret) => secretTexts(secret.reveal())));
    }
    return mask;
  };
  return {
    variable(names) {
      const known = secrets();
      const missing = names.filter((name) => !Object.hasOwn(known, name));
      if (missing.length > 0) return { missing };
      const members = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(known[name]?.reveal())}`);
      return { text: `{${members.join(',')}}` };
    },
    mask: (jsonText) => current()(jsonText),
    maskText: (text) => JSON.parse(current()(JSON.stringify(text))) as string,
  };
}

/**
 * The texts that give a secret away: the whole of it, and the parts that a workflow may use by themselves. These are the password of
 * `username:password`, and the members of the JSON text of an object. A user name is no secret: people would miss it in what far sides say.
 */
function secretTexts(text: string): readonly string[] {
  const object = objectIn(text);
  if (object === undefined) return [text, text.slice(text.indexOf(':') + 1)];
  const { username, password } = object;
  const sent = typeof username === 'string' && typeof password === 'string' ? [`${username}:${password}`] : [];
  const members = Object.entries(object).filter(([name]) => name !== 'username');
  return [text, ...sent, ...members.flatMap(([, value]) => leavesOf(value))];
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [];
}
