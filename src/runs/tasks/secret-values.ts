import type { Secret } from '#base/secret.ts';
import { createMask, type Mask } from './mask.ts';

/** The secrets of workflows: `automations.secrets` of the configuration. */
export interface SecretValues {
  /** `$secrets` with these names as JSON text. Throws where the configuration has no secret of a name. */
  variable(names: readonly string[]): string;
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
      mask = createMask(Object.values(now).map((secret) => secret.reveal()));
    }
    return mask;
  };
  return {
    variable(names) {
      const known = secrets();
      const missing = names.filter((name) => !Object.hasOwn(known, name));
      if (missing.length > 0) {
        const listed = missing.map((name) => JSON.stringify(name)).join(', ');
        throw new Error(`The configuration has no secret ${listed} (automations.secrets).`);
      }
      const members = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(known[name]?.reveal())}`);
      return `{${members.join(',')}}`;
    },
    mask: (jsonText) => current()(jsonText),
    maskText: (text) => JSON.parse(current()(JSON.stringify(text))) as string,
  };
}
