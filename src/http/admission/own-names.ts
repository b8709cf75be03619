import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The names under which callers reach the gateway: that of `server.publicUrl`, and those of its listeners. */
export interface OwnNames {
  /** Whether `Host` names the gateway, with any port. A page of a name that an attacker resolves to the gateway has another. */
  isHost(request: IncomingMessage): boolean;
  /** Whether an `Origin` is that of `server.publicUrl`; without the key, that of a listener by its scheme and the `Host` received. */
  isOrigin(origin: string, request: IncomingMessage): boolean;
  /** The origin by which a caller reached the gateway; undefined where `Host` names another. With `server.publicUrl` always that one. */
  originOf(request: IncomingMessage): string | undefined;
  /** The names of a new certificate replace those of the old one. */
  useCertificate(pem: string): void;
}

interface OwnNamesOptions {
  /** Address or name on which the gateway listens. */
  readonly host: string;
  readonly publicUrl?: string;
  readonly tls?: { readonly cert: string };
}

export function createOwnNames({ host, publicUrl, tls }: OwnNamesOptions): OwnNames {
  const { origin: publicOrigin } = readPublicUrl(publicUrl);
  const publicName = publicOrigin === '' ? undefined : nameOf(new URL(publicOrigin).host);
  const listensOn = nameOf(host.includes(':') ? `[${host}]` : host);
  let certificate = tls && new X509Certificate(tls.cert);

  const isListener = (name: string, { socket }: IncomingMessage): boolean => {
    const address = (socket.localAddress ?? '').replace(/^::ffff:(?=\d+\.)/iu, '');
    if (name === listensOn || name === address) return true;
    if (name === 'localhost' && (address === '::1' || address.startsWith('127.'))) return true;
    return certificate !== undefined && covers(certificate, name);
  };

  const originOf: OwnNames['originOf'] = (request) => {
    if (publicOrigin !== '') return publicOrigin;
    const { host: received } = request.headers;
    const name = nameOf(received);
    if (name === undefined || !isListener(name, request)) return undefined;
    return new URL(`${tls === undefined ? 'http' : 'https'}://${received}`).origin;
  };

  return {
    isHost(request) {
      const name = nameOf(request.headers.host);
      return name !== undefined && (name === publicName || isListener(name, request));
    },
    isOrigin: (origin, request) => origin === originOf(request),
    originOf,
    useCertificate(pem) {
      certificate = new X509Certificate(pem);
    },
  };
}

/** The name of a `Host` in the form of the URL Standard, without port, brackets and a dot at its end. */
function nameOf(host: string | undefined): string | undefined {
  if (host === undefined || !URL.canParse(`http://${host}`)) return undefined;
  return new URL(`http://${host}`).hostname.replace(/^\[|\]$|\.$/gu, '');
}

/** By the alternative names of the certificate, as browsers do. Node throws for some names that no certificate can have. */
function covers(certificate: X509Certificate, name: string): boolean {
  try {
    return (certificate.checkHost(name, { subject: 'never' }) ?? certificate.checkIP(name)) !== undefined;
  } catch {
    return false;
  }
}

/** Where callers reach the gateway: `server.publicUrl`, without a slash at its end. All empty where the key is absent. */
interface PublicUrl {
  /** As `Origin` names it, such as `https://gateway.example.net`. */
  readonly origin: string;
  /** In front of the path of a route: an absolute URL, such as `https://gateway.example.net/base`. */
  readonly base: string;
  /** The path alone, such as `/base`. */
  readonly path: string;
}

export function readPublicUrl(configured: string | undefined): PublicUrl {
  if (configured === undefined) return { origin: '', base: '', path: '' };
  const { origin, pathname } = new URL(configured);
  const path = pathname.replace(/\/+$/u, '');
  return { origin, base: `${origin}${path}`, path };
}
