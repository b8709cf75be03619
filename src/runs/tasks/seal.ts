import type { Principal } from '#access/principal.ts';
import { whyNotByWriter, whyNotForWorkflow } from '#access/secret-rule.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { isDestination, type Seal, type SealedDestination, type SealedText } from '#relay/seal.ts';
import { leavesOf, type Placeholders } from './placeholders.ts';
import type { SealedSecret, SealedSecrets, SecretUser } from './sealed-secret.ts';
import { createSpellings } from './spellings.ts';

interface SealParts {
  readonly user: SecretUser;
  readonly placeholders: Placeholders;
  /** Is asked each time: a call carries what is configured when it leaves. */
  readonly secrets: () => SealedSecrets;
  /** Everybody who wrote the document, or is author of the automation. */
  readonly writers: readonly Principal[];
  /** Replaces the values of all secrets, and the placeholders of the run. */
  readonly maskText: (text: string) => string;
}

/** The secrets of one run for one of its calls. */
export function createSeal({ user, placeholders, secrets, writers, maskText }: SealParts): Seal {
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
          if (leaf === undefined) return notWhole(place);
          const reason = whyNot(leaf.secret, { user, writers, place, to });
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
    shown: maskText,
    gives: (text) => maskText(text) !== text,
  };
}

interface Leaf {
  readonly name: string;
  readonly secret: SealedSecret;
  readonly value: string;
}

/** The values of now, by their placeholders. */
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

/** In words that follow "the secret NAME". */
function whyNot(
  secret: SealedSecret,
  {
    user,
    writers,
    place,
    to,
  }: {
    readonly user: SecretUser;
    readonly writers: readonly Principal[];
    readonly place: string;
    readonly to: SealedDestination;
  },
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
  return place.startsWith('header:')
    ? `the header ${place.slice('header:'.length)}`
    : place.startsWith('the ')
      ? place
      : `the ${place}`;
}

function alteredRefusal({ place }: SealedText): GatewayError {
  const detail = `${placeWord(place)} has a secret in base64, in hexadecimal digits or in percent-encoding. Let the gateway encode it: give the secret as it is, and use authentication for Basic credentials.`;
  return new GatewayError('secret-altered', detail.replace(/^t/u, 'T'));
}

function notWhole(place: string): GatewayError {
  const detail = `${placeWord(place)} has a part of a secret, or one that the configuration does not have any more.`;
  return new GatewayError('forbidden', detail.replace(/^t/u, 'T'));
}

/** Rounds of percent-encoding that are looked through. */
const mostRounds = 5;

/** Makes the test whether a text has the beginning of placeholders in another spelling than their own. */
function createAlterations(tag: string): (text: string) => boolean {
  const spellings = createSpellings([tag]);
  return (text) => {
    let reading = text;
    for (let round = 0; round < mostRounds; round += 1) {
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
