import { Secret } from '#base/secret.ts';
import { entriesOf, type Place, report, scalarOf, warn, wrongKind } from '../shapes/place.ts';
import { type KeptSecret, type SecretFault, valueFault } from './kept-secret.ts';
import type { ValueSource } from './value-source.ts';

/** What a source of one kind is made of. `at`: the value of the key that names the kind. Undefined after a report. */
export interface SourceKind {
  /** As the messages show it. */
  readonly form: string;
  source(options: { readonly place: Place; readonly at: Place }): ValueSource | undefined | Promise<ValueSource | undefined>;
}

/** By the key that names them. */
export type SourceKinds = Readonly<Record<string, SourceKind>>;

interface SecretReading {
  readonly kinds: SourceKinds;
  readonly refuse: SecretFault;
}

/** Plain text is a warning. No message holds any part of the value. */
export async function readSecret(place: Place, reading: SecretReading): Promise<Secret | undefined> {
  const plain = scalarOf(place);
  if (typeof plain === 'string') return plainSecret(place, plain, reading);
  if (place.node.kind !== 'object') {
    const wanted = `${formsOf(reading.kinds)}${place.node.kind === 'array' ? '' : ', or put the text in quotes'}`;
    return wrongKind(place, wanted);
  }
  const named = entriesOf(place).filter(({ key }) => Object.hasOwn(reading.kinds, key));
  const [entry] = named;
  const kind = entry === undefined ? undefined : reading.kinds[entry.key];
  if (entry === undefined || kind === undefined || named.length > 1) return reportForm(place, reading.kinds);
  const source = await kind.source({ place, at: entry.value });
  if (source === undefined) return undefined;
  const kept = place.reading.sources.take(source, reading.refuse);
  return (await isUsable(kept, { place, at: entry.value })) ? new Secret(kept) : undefined;
}

export function reportForm(place: Place, kinds: SourceKinds): undefined {
  return report(place, `is no secret reference; write exactly ${formsOf(kinds)}`);
}

function formsOf(kinds: SourceKinds): string {
  const forms = Object.values(kinds).map(({ form }) => form);
  return `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}`;
}

function plainSecret(place: Place, plain: string, { kinds, refuse }: SecretReading): Secret | undefined {
  const variable = /^\$(?:\{(\w+)\}|(\w+))$/u
    .exec(plain)
    ?.slice(1)
    .find((name) => name !== undefined);
  const looks = variable === undefined ? '' : ' and looks like a variable, which the gateway does not replace';
  const better = variable === undefined ? formsOf(kinds) : `{ env: ${variable} }`;
  warn(place, `is plain text in the file${looks}; write ${better}`);
  const fault = valueFault(plain, refuse);
  return fault === undefined ? new Secret(plain) : report(place, fault);
}

/** Reports a first value that is none; warns where an earlier one stays. */
async function isUsable(kept: KeptSecret, { place, at }: { readonly place: Place; readonly at: Place }): Promise<boolean> {
  const read = await kept.read();
  if (read === undefined) return true;
  const where = read.isSource ? at : place;
  if (kept.hasValue) {
    const age = Math.round(kept.state().age / 1_000);
    warn(where, `${read.fault}; the last good value, ${age} s old, stays in use`);
    return true;
  }
  // A running gateway tells the detail to its log alone, since the reply of a reload has the problems.
  const detail = read.detail === undefined || read.detail === '' || place.reading.sources.isWatched ? '' : `: ${read.detail}`;
  report(where, `${read.fault}${detail}`);
  return false;
}
