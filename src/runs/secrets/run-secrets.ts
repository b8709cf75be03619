import type { Principal } from '#access/principal.ts';
import { whyNotByWriter, whyNotForWorkflow } from '#access/rights/secret-rule.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { isDestination, noSeal, type Seal, type SealedDestination, type SealedText } from '#relay/call-seal.ts';
import { createMask, type Mask, textMask } from './mask.ts';
import {
  createPlaceholders,
  type FilledPasswords,
  leavesOf,
  type Placeholders,
  type SealedSecret,
  type SealedSecrets,
  type SecretUser,
} from './placeholders.ts';
import { createSpellings } from './spellings.ts';

/** The run works with placeholders, and the values go into its calls alone. */
export interface RunSecrets {
  /**
   * `$secrets` as JSON text; else the names that are not configured, or why the workflow may not have one: a sentence. `mentioned`: names that
   * the expressions use.
   */
  variable(
    mentioned: readonly string[],
  ): { readonly text: string } | { readonly missing: readonly string[] } | { readonly refused: string };
  /** Whether a JSON text has a placeholder of the run, in any spelling. */
  isIn(jsonText: string): boolean;
  /** The JSON text as readers see it: `***` in place of placeholders. */
  readonly hide: Mask;
  /** For one call. `writers`: everybody who wrote the document, or is author of the automation. */
  seal(writers: readonly Principal[]): Seal;
}

/** `secrets`: called each time, since a call carries what is configured when it leaves. `maskText`: replaces the values of all secrets. */
export function createRunSecrets(user: SecretUser, secrets: () => SealedSecrets, maskText: (text: string) => string): RunSecrets {
  const { names, workflow, passwords } = user;
  const ofForm = bodyMaskOf(maskText, passwords);
  if (names.length === 0) return withoutSecrets(maskText, ofForm);
  const placeholders = createPlaceholders(user.seed);
  let hidden: { readonly of: SealedSecrets; readonly mask: Mask } | undefined;
  const hide: Mask = (text) => {
    const now = secrets();
    if (hidden?.of !== now)
      hidden = { of: now, mask: createMask([...leavesNow(user, placeholders, now).keys(), placeholders.tag]) };
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
    seal: (writers) =>
      createSeal({
        user,
        placeholders,
        secrets,
        writers,
        ofForm,
        maskText: (text) => textMask(hide)(maskText(text)),
      }),
  };
}

type BodyMask = Pick<Seal, 'hiddenFields' | 'masked' | 'withoutPasswords'>;

/** Kept bodies hide what task data hides. `maskText`: replaces the values of all secrets. */
function bodyMaskOf(
  maskText: (text: string) => string,
  { fields, values }: FilledPasswords = { fields: [], values: [] },
): BodyMask {
  const withoutPasswords = createMask(values);
  const inText = textMask(withoutPasswords);
  const masked = values.length === 0 ? maskText : (text: string) => inText(maskText(text));
  return { hiddenFields: fields, masked, withoutPasswords };
}

function withoutSecrets(maskText: (text: string) => string, ofForm: BodyMask): RunSecrets {
  return {
    variable: ([name]) =>
      name === undefined ? { text: '{}' } : { refused: `The document does not list the secret "${name}" in use.secrets.` },
    isIn: () => false,
    hide: (text) => text,
    seal: () => ({ ...noSeal, shown: maskText, ...ofForm }),
  };
}

/** The member for `$secrets.NAME`, and the one that `authentication.basic.use` reads for `username:password`. */
function membersOf(name: string, text: string, placeholders: Placeholders): readonly string[] {
  const variable = placeholders.variable(name, text);
  const member = `${JSON.stringify(name)}:${variable}`;
  const isPair = variable.startsWith('"') && text.includes(':');
  return isPair ? [member, `${JSON.stringify(`${name}:basic`)}:${placeholders.pair(name)}`] : [member];
}

interface SealParts {
  readonly user: SecretUser;
  readonly placeholders: Placeholders;
  readonly secrets: () => SealedSecrets;
  readonly writers: readonly Principal[];
  readonly ofForm: BodyMask;
  /** Replaces the placeholders of the run as well. */
  readonly maskText: (text: string) => string;
}

function createSeal({ user, placeholders, secrets, writers, ofForm, maskText }: SealParts): Seal {
  const { pattern, tag } = placeholders;
  const isAltered = createAlterations(tag);
  const leaves = (): ReadonlyMap<string, Leaf> => leavesNow(user, placeholders, secrets());
  const found = (text: string): readonly string[] => (text.includes(tag) ? (text.match(pattern) ?? []) : []);
  return {
    refusal(texts, to) {
      const altered = texts.find(({ text }) => isAltered(text));
      if (altered !== undefined) return alteredRefusal(altered);
      const known = leaves();
      for (const { place, text } of texts) {
        for (const placeholder of found(text)) {
          const leaf = known.get(placeholder);
          if (leaf === undefined) return partialRefusal(place);
          const reason = whyNot(leaf.secret, { user, writers }, place, to);
          if (reason === undefined) continue;
          const detail = `The secret "${leaf.name}" ${reason}: ${placeWord(place)} of a call to ${shownDestination(to)} would carry it.`;
          return new GatewayError('forbidden', detail, { rule: `secret ${leaf.name}` });
        }
      }
      return undefined;
    },
    carried(texts) {
      const known = leaves();
      const carried = texts.flatMap(({ place, text }) =>
        found(text).map((each) => ({ name: known.get(each)?.name ?? '', place })),
      );
      return [...new Map(carried.map((each) => [JSON.stringify(each), each])).values()];
    },
    open(text, encode = (value) => value) {
      if (!text.includes(tag)) return text;
      const known = leaves();
      return text.replaceAll(pattern, (placeholder) => encode(known.get(placeholder)?.value ?? placeholder));
    },
    renewal(carried) {
      const known = secrets();
      const used = carried.flatMap(({ name }) => (Object.hasOwn(known, name) && known[name] ? [known[name].value] : []));
      const before = used.map((value) => value.reveal());
      return async () => {
        await Promise.all(used.map((value) => value.renew()));
        return used.some((value, index) => value.reveal() !== before[index]);
      };
    },
    shown: maskText,
    ...ofForm,
    gives: (text) => maskText(text) !== text,
  };
}

interface Leaf {
  readonly name: string;
  readonly secret: SealedSecret;
  readonly value: string;
}

function leavesNow({ names }: SecretUser, placeholders: Placeholders, secrets: SealedSecrets): ReadonlyMap<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  for (const name of names) {
    const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
    if (secret === undefined) continue;
    for (const [pointer, value] of leavesOf(secret.value.reveal()))
      leaves.set(placeholders.of({ secret: name, pointer }), { name, secret, value });
  }
  return leaves;
}

function whyNot(
  secret: SealedSecret,
  { user, writers }: Pick<SealParts, 'user' | 'writers'>,
  place: string,
  to: SealedDestination,
): string | undefined {
  const ofWorkflow = whyNotForWorkflow(secret, user.workflow);
  if (ofWorkflow !== undefined) return ofWorkflow;
  for (const writer of writers) {
    const reason = whyNotByWriter(secret, writer);
    if (reason !== undefined) return reason;
  }
  const isListed = 'adapter' in to ? secret.adapters.includes(to.adapter) : isDestination(secret.destinations, to.url);
  if (!isListed) return 'does not have this destination';
  return secret.places.includes(place) ? undefined : 'does not have this place';
}

/** Without the query, which may hold data. */
function shownDestination(to: SealedDestination): string {
  return 'adapter' in to ? `the adapter instance "${to.adapter}"` : `${to.url.origin}${to.url.pathname}`;
}

function placeWord(place: string): string {
  if (place.startsWith('header:')) return `the header ${place.slice('header:'.length)}`;
  return place.startsWith('the ') ? place : `the ${place}`;
}

function alteredRefusal({ place }: SealedText): GatewayError {
  const detail = `${placeWord(place)} has a secret in base64, in hexadecimal digits or in percent-encoding. Let the gateway encode it: give the secret as it is, and use authentication for Basic credentials.`;
  return new GatewayError('secret-altered', detail.replace(/^t/u, 'T'));
}

function partialRefusal(place: string): GatewayError {
  const detail = `${placeWord(place)} has a part of a secret, or one that the configuration does not have any more.`;
  return new GatewayError('forbidden', detail.replace(/^t/u, 'T'));
}

const maxRounds = 5;

function createAlterations(tag: string): (text: string) => boolean {
  const spellings = createSpellings([tag]);
  return (text) => {
    let reading = text;
    for (let round = 0; round < maxRounds; round += 1) {
      const found = spellings.foundIn(reading).flatMap((pattern) => reading.match(pattern) ?? []);
      if (found.some((spelling) => spelling !== tag)) return true;
      const decoded = reading.replaceAll(/%([0-9a-f]{2})/giu, (_written, hex) =>
        String.fromCharCode(Number.parseInt(String(hex), 16)),
      );
      if (decoded === reading) return false;
      reading = decoded;
    }
    return false;
  };
}
