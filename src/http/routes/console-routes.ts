import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { GatewayError } from '#base/gateway-error.ts';
import { json, type Route, type RouteReply, type RouteRequest } from '../route.ts';
import { monitoring } from './route-traits.ts';

interface ConsoleRoutesOptions {
  /** Undefined where the console is not built; `off` where the configuration turns it off. */
  readonly files: ConsoleFiles | 'off' | undefined;
  readonly version: string;
  /** In front of every path: an absolute URL, or empty. */
  readonly base: string;
}

/**
 * The console for people, and what the address of the gateway says. They are no part of the API, so OpenAPI leaves them out. Every page has
 * the same document; the program in it reads the address.
 */
export function consoleRoutes(options: ConsoleRoutesOptions): readonly Route[] {
  const { files } = options;
  if (files === 'off') return [rootRoute(options)];
  const page = (request: RouteRequest): RouteReply => pageReply(files, request);
  return [
    rootRoute(options),
    htmlRoute('/console', page),
    htmlRoute('/console/', page),
    htmlRoute('/console/:page', page),
    htmlRoute('/console/:page/:entry', page),
    htmlRoute('/console/assets/:file', (request) => assetReply(files, request)),
  ];
}

/** A browser is sent to the console, or to the reference where there is none. A program gets the addresses in JSON. */
function rootRoute({ files, version, base }: ConsoleRoutesOptions): Route {
  const hasConsole = files !== 'off' && files !== undefined;
  const addresses = {
    name: 'Orchestration Gateway',
    version,
    ...(hasConsole ? { console: `${base}/console` } : {}),
    documentation: `${base}/docs`,
    openapi: `${base}/openapi.json`,
    health: `${base}/healthz`,
  };
  return htmlRoute('/', ({ headers }) => {
    if (!wantsHtml(headers.accept)) return json(200, addresses, { ...common, Vary: 'Accept' });
    const Location = `${base}${hasConsole ? '/console' : '/docs'}`;
    return { kind: 'plain', status: 302, headers: { ...common, Location, Vary: 'Accept' }, body: '' };
  });
}

/** Browsers name the type when a person opens an address; programs do not. */
function wantsHtml(accept = ''): boolean {
  return accept.split(',').some((part) => part.trim().split(';')[0]?.toLowerCase() === 'text/html');
}

const anyQuery = { parameters: {}, read: (query: URLSearchParams) => query };

function htmlRoute(url: `/${string}`, handle: Route['handle']): Route {
  return {
    method: 'GET',
    url,
    open: true,
    // Pages keep their filters there.
    query: anyQuery,
    handle,
    ...monitoring,
  };
}

function pageReply(files: ConsoleFiles | undefined, request: RouteRequest): RouteReply {
  if (files === undefined) {
    throw new GatewayError(
      'not-found',
      'The console is not built. Run "npm run build:console" in the gateway’s folder, and restart it.',
    );
  }
  return fileReply(files.page, request, pageHeaders);
}

function assetReply(files: ConsoleFiles | undefined, request: RouteRequest): RouteReply {
  const file = files?.assets.get(request.params['file'] ?? '');
  if (file === undefined) throw new GatewayError('not-found', 'The console has no such file. Load the page again.');
  return fileReply(file, request, assetHeaders);
}

function fileReply(
  { mediaType, bytes, gzipped }: ConsoleFile,
  { headers }: RouteRequest,
  own: Readonly<Record<string, string>>,
): RouteReply {
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/iu.test(headers['accept-encoding']?.toString() ?? '');
  const encoding = takesGzip ? { 'Content-Encoding': 'gzip' } : {};
  return {
    kind: 'plain',
    status: 200,
    mediaType,
    headers: { ...own, ...encoding, Vary: 'Accept-Encoding' },
    body: takesGzip ? gzipped : bytes,
  };
}

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const common = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' };
const pageHeaders = {
  ...common,
  'Content-Security-Policy': contentSecurityPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
};
/** The name of an asset changes with its content. */
const assetHeaders = { ...pageHeaders, 'Cache-Control': 'public, max-age=31536000, immutable' };

/** A file of the built console, as it is sent. */
interface ConsoleFile {
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
