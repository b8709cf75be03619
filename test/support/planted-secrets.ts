import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Secrets that a test plants in places, and the search for them in output. */
interface PlantedSecrets {
  /** The secret of a place, made at the first call. No character of it needs percent-encoding. */
  (place: string): string;
  /** Sets the secret of a place. */
  set(place: string, value: string): void;
  readonly places: readonly string[];
  /** The places whose secret is in `text`: plain, in hexadecimal, or in base64 at any offset. */
  foundIn(text: string, places?: readonly string[]): readonly string[];
}

export function plantSecrets(mark = 'c4n4ry'): PlantedSecrets {
  const planted = new Map<string, string>();
  const secret = (place: string): string => {
    const value = planted.get(place) ?? `${mark}-${planted.size}-${place}`.replaceAll(/[^a-z0-9-]/g, '');
    planted.set(place, value);
    return value;
  };
  const foundIn = (text: string, places: readonly string[] = [...planted.keys()]): readonly string[] =>
    places.filter((place) => spellings(secret(place)).some((spelling) => text.includes(spelling)));
  return Object.defineProperty(
    Object.assign(secret, { set: (place: string, value: string) => void planted.set(place, value), foundIn, places: [] }),
    'places',
    { get: () => [...planted.keys()] },
  );
}

function spellings(value: string): readonly string[] {
  // Base64 depends on the offset within three bytes, so there are three spellings, without the characters that neighbours change.
  const shifted = [0, 1, 2].map((before) => {
    const bytes = Buffer.from(`${'x'.repeat(before)}${value}`);
    return bytes.toString('base64').slice(before === 0 ? 0 : before + 1, -4);
  });
  return [value, ...shifted, Buffer.from(value).toString('hex')];
}

/** What is in all files of the SQLite store of a gateway in this directory. */
export function textOfStore(directory: string): string {
  const files = readdirSync(directory).filter((name) => /^gateway\.(?:\w+\.)?db/u.test(name));
  for (const name of ['gateway.db', 'gateway.audit.db']) assert.ok(files.includes(name), files.join());
  return files.map((name) => readFileSync(join(directory, name), 'latin1')).join('\n');
}
