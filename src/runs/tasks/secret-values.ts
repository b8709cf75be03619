import type { Secret } from '#base/secret.ts';
import { createMask, type Mask } from './mask.ts';
import { secretTexts } from './secret-texts.ts';

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
