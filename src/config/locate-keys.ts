import { dirname, resolve } from 'node:path';
import { parseYaml } from '#yaml/yaml-text.ts';
import type { LoadOptions } from './load-config.ts';
import { itemsOf, memberOf, type Place, Reading } from './place.ts';
import { readRegularFile } from './regular-file.ts';

interface LocatedKey {
  readonly key: string;
  /** From 1; undefined where the file does not have the key, and its default holds. */
  readonly line: number | undefined;
  readonly column: number | undefined;
}

const configFileLimit = 1024 ** 2;

/** Where a file that loads has the values of these keys, such as `access.roles[0].allows[1]`. */
export async function locateKeys({ file, env, cwd }: LoadOptions, keys: readonly string[]): Promise<readonly LocatedKey[]> {
  const fileName = resolve(cwd, file);
  const read = await readRegularFile(fileName, configFileLimit);
  const yaml = 'fault' in read ? undefined : parseYaml(read.text);
  if (yaml === undefined || yaml.root === null) return keys.map((key) => ({ key, line: undefined, column: undefined }));
  const { root } = new Reading({ file, directory: dirname(fileName), env, yaml });
  return keys.map((key) => {
    const place = placeOf(root, key);
    return { key, line: undefined, column: undefined, ...(place && yaml.positionOf(place.offset)) };
  });
}

function placeOf(root: Place, key: string): Place | undefined {
  let place: Place | undefined = root;
  for (const [, name, index] of key.matchAll(/([^.[\]]+)|\[(\d+)\]/gu)) {
    if (place === undefined) return undefined;
    place = name === undefined ? itemsOf(place)[Number(index)] : memberOf(place, name);
  }
  return place;
}
