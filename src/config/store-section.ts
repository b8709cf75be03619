import { resolve } from 'node:path';
import { Secret } from '#base/secret.ts';
import type { StoreConfig } from './config.ts';
import { type Place, scalarOf } from './place.ts';
import { secret } from './secret-shape.ts';
import { defaulted, mapped, mapping, type Shape } from './shape.ts';

/** The URL may hold a password. So it can be a secret reference (`env` or `file`), and no message quotes it. */
const storeUrl: Shape<StoreConfig> = {
  type: 'store URL',
  async read(place) {
    const written = scalarOf(place);
    if (typeof written === 'string') return parseStoreUrl(written, place);
    const resolved = await secret().read(place);
    return resolved === undefined ? undefined : parseStoreUrl(resolved.reveal(), place);
  },
};

function parseStoreUrl(url: string, place: Place): StoreConfig | undefined {
  const fault = url.startsWith('sqlite:') ? sqliteFault(url) : postgresFault(url);
  if (fault !== undefined) {
    place.reading.problem(place, fault);
    return undefined;
  }
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', file: resolve(place.reading.directory, url.slice('sqlite:'.length)) };
  if (typeof scalarOf(place) === 'string' && URL.parse(url)?.password !== '') {
    place.reading.warning(place, 'holds a password in plain text; write { env: NAME } or { file: PATH } for the whole URL');
  }
  return { kind: 'postgres', url: new Secret(url) };
}

function sqliteFault(url: string): string | undefined {
  const file = url.slice('sqlite:'.length);
  if (file === '' || file.endsWith('/')) return 'has no file name after sqlite:; write e.g. sqlite:./data/gateway.db';
  if (/[?#\p{Cc}]/u.test(file)) return 'has "?", "#" or a control character in its file name; options are not supported';
  if (file.startsWith(':'))
    return 'is no file; a store in memory loses all its data at a restart, write e.g. sqlite:./data/gateway.db';
  return /^\/\/[^/]/u.test(file)
    ? 'has two slashes after sqlite:; write one for an absolute path, none for a relative one'
    : undefined;
}

function postgresFault(url: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//u.test(url))
    return 'is no store URL; write sqlite:./data/gateway.db or postgres://user@host/database';
  const parsed = URL.parse(url);
  if (parsed === null || /[\s\p{Cc}]/u.test(url))
    return 'is no valid PostgreSQL URL; write postgres://user@host/database and percent-encode special characters';
  return parsed.pathname.length > 1 ? undefined : 'names no database; write postgres://user@host/database';
}

export const storeSection = mapped(
  mapping({
    url: defaulted(
      storeUrl,
      'sqlite:./data/gateway.db',
      '`sqlite:PATH` for a local file, or `postgres://USER@HOST/DATABASE` for several gateways. Also `{ env: NAME }` or `{ file: PATH }`.',
    ),
  }),
  ({ url }) => url,
);
