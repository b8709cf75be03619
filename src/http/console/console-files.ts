import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file of the built console, as it is sent. */
export interface ConsoleFile {
  readonly mediaType: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
}

/** The built console in memory. */
export interface ConsoleFiles {
  /** The document of every page. */
  readonly page: ConsoleFile;
  /** By name; a name holds a hash of the content. */
  readonly assets: ReadonlyMap<string, ConsoleFile>;
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Reads what `npm run build:console` wrote into `folder`. Undefined where it is not there. `path` is in front of the path of each route:
 * the page names its assets by absolute paths, because it is served at several depths.
 */
export async function readConsole(folder: string, path: string): Promise<ConsoleFiles | undefined> {
  try {
    const html = await readFile(join(folder, 'index.html'), 'utf8');
    const names = await readdir(join(folder, 'assets'));
    const assets = names.map(async (name) => [name, fileOf(name, await readFile(join(folder, 'assets', name)))] as const);
    const placed = html.replaceAll('"./assets/', `"${path}/console/assets/`);
    return { page: fileOf('index.html', Buffer.from(placed)), assets: new Map(await Promise.all(assets)) };
  } catch {
    return undefined;
  }
}

function fileOf(name: string, bytes: Buffer): ConsoleFile {
  return { mediaType: mediaTypes[extname(name)] ?? 'application/octet-stream', bytes, gzipped: gzipSync(bytes, { level: 9 }) };
}
