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
