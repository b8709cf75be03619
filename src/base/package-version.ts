import { readFile } from 'node:fs/promises';

/** The version that package.json names. */
export async function packageVersion(): Promise<string> {
  const file = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { readonly version: string }).version;
}
