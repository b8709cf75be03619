import { createMask, type Mask, textMask } from './mask.ts';
import { createRunSecrets, type RunSecrets } from './run-secrets.ts';
import type { SealedSecrets, SecretUser } from './sealed-secret.ts';
import { secretTexts } from './secret-texts.ts';

/** The secrets of workflows. */
export interface SecretValues {
  /** Those of one run, as its calls may carry them. */
  ofRun(run: SecretUser): RunSecrets;
  /** See `createMask`. */
  mask(jsonText: string): string;
  /** As `mask`, for a text that is no JSON. */
  maskText(text: string): string;
}

/** `secrets` is asked each time, since a reload replaces them. */
export function createSecretValues(secrets: () => SealedSecrets): SecretValues {
  let masked: SealedSecrets | undefined;
  let mask: Mask = (text) => text;
  const current = (): Mask => {
    const now = secrets();
    if (now !== masked) {
      masked = now;
      mask = createMask(Object.values(now).flatMap(({ value }) => secretTexts(value.reveal())));
    }
    return mask;
  };
  const maskText = textMask((text) => current()(text));
  return { ofRun: (run) => createRunSecrets(run, { secrets, maskText }), mask: (jsonText) => current()(jsonText), maskText };
}
