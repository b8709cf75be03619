import type { Principal } from '#access/principal.ts';
import { whyNotForWorkflow } from '#access/secret-rule.ts';
import { noSeal, type Seal } from '#relay/seal.ts';
import { createMask, type Mask, textMask } from './mask.ts';
import { createPlaceholders, leavesOf } from './placeholders.ts';
import { createSeal } from './seal.ts';
import type { SealedSecrets, SecretUser } from './sealed-secret.ts';

/** `$secrets` as JSON text; else the names that are not configured, or why the workflow may not have one: a sentence. */
export type SecretsVariable = { readonly text: string } | { readonly missing: readonly string[] } | { readonly refused: string };

/** The secrets of one run. It works with placeholders, and the values go into its calls alone. */
export interface RunSecrets {
  /** `mentioned`: names that the expressions use. */
  variable(mentioned: readonly string[]): SecretsVariable;
  /** Whether a JSON text has a placeholder of the run, as it is or in base64, hexadecimal digits or percent-encoding. */
  isIn(jsonText: string): boolean;
  /** The JSON text as readers see it: `***` in place of placeholders. */
  readonly hide: Mask;
  /** What lets a call carry them. `writers`: everybody who wrote the document, or is author of the automation. */
  seal(writers: readonly Principal[]): Seal;
}

interface RunSecretsNeeds {
  readonly secrets: () => SealedSecrets;
  /** Replaces the values of all secrets. */
  readonly maskText: (text: string) => string;
}

export function createRunSecrets(user: SecretUser, { secrets, maskText }: RunSecretsNeeds): RunSecrets {
  const { names, workflow } = user;
  if (names.length === 0) return withoutSecrets(maskText);
  const placeholders = createPlaceholders(user.seed);
  let hidden: { readonly of: SealedSecrets; readonly mask: Mask } | undefined;
  const hide: Mask = (text) => {
    const now = secrets();
    if (hidden?.of !== now) hidden = { of: now, mask: createMask(placeholdersOf(names, now, placeholders)) };
    return hidden.mask(text);
  };
  return {
    variable(mentioned) {
      const now = secrets();
      const unlisted = mentioned.find((name) => !names.includes(name));
      if (unlisted !== undefined) return { refused: `The document does not list the secret "${unlisted}" in use.secrets.` };
      const missing = names.filter((name) => !Object.hasOwn(now, name));
      if (missing.length > 0) return { missing };
      for (const name of names) {
        const reason = now[name] && whyNotForWorkflow(now[name], workflow);
        if (reason !== undefined) return { refused: `The secret "${name}" ${reason}.` };
      }
      const members = names.flatMap((name) => membersOf(name, now[name]?.value.reveal() ?? '', placeholders));
      return { text: `{${members.join(',')}}` };
    },
    isIn: (text) => hide(text) !== text,
    hide,
    seal: (writers) => createSeal({ user, placeholders, secrets, writers, maskText: (text) => textMask(hide)(maskText(text)) }),
  };
}

function withoutSecrets(maskText: RunSecretsNeeds['maskText']): RunSecrets {
  return {
    variable: ([name]) =>
      name === undefined ? { text: '{}' } : { refused: `The document does not list the secret "${name}" in use.secrets.` },
    isIn: () => false,
    hide: (text) => text,
    seal: () => ({ ...noSeal, shown: maskText }),
  };
}

/** The member for `$secrets.NAME`, and the one that `authentication.basic.use` reads for `username:password`. */
function membersOf(name: string, text: string, placeholders: ReturnType<typeof createPlaceholders>): readonly string[] {
  const variable = placeholders.variable(name, text);
  const member = `${JSON.stringify(name)}:${variable}`;
  const isPair = variable.startsWith('"') && text.includes(':');
  return isPair ? [member, `${JSON.stringify(`${name}:basic`)}:${placeholders.pair(name)}`] : [member];
}

function placeholdersOf(
  names: readonly string[],
  secrets: SealedSecrets,
  placeholders: ReturnType<typeof createPlaceholders>,
): readonly string[] {
  const leaves = names.flatMap((secret) => {
    const text = secrets[secret]?.value.reveal();
    return text === undefined ? [] : [...leavesOf(text).keys()].map((pointer) => placeholders.of({ secret, pointer }));
  });
  return [...leaves, placeholders.tag];
}
