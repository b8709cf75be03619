import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import type { OpenApiDocument } from '../../src/http/documentation/openapi-document.ts';
import { operationsModule } from './operations-module.ts';

/** The part of the client that is made, and not written. */
export const generatedFolder = fileURLToPath(new URL('../../client/src/generated', import.meta.url));

/** Makes the generated part of the client in this folder. */
export async function generateClient(document: OpenApiDocument, folder: string): Promise<void> {
  await createClient({
    // The generator changes its input.
    input: structuredClone(document) as unknown as Record<string, unknown>,
    output: { path: folder, clean: false, entryFile: false },
    plugins: ['@hey-api/typescript'],
    logs: { level: 'silent' },
  });
  await writeFile(join(folder, 'operations.gen.ts'), operationsModule(document));
}

/** The files that differ between two folders. */
export async function staleFiles(made: string, kept: string): Promise<readonly string[]> {
  const names = await Promise.all([made, kept].map((folder) => readdir(folder).catch(() => [])));
  const stale: string[] = [];
  for (const name of new Set(names.flat().toSorted())) {
    const [one, other] = await Promise.all(
      [made, kept].map((folder) => readFile(join(folder, name), 'utf8').catch(() => undefined)),
    );
    if (one !== other) stale.push(name);
  }
  return stale;
}
