/** Who calls: a bearer token, a user, a client of `/oauth/token`, or the browser's session cookie. */
export type Credentials =
  | (Partial<Record<'username' | 'clientId', never>> & { readonly token: string })
  | (Partial<Record<'token' | 'clientId', never>> & { readonly username: string; readonly password: string })
  | (Partial<Record<'token' | 'username', never>> & { readonly clientId: string; readonly clientSecret: string })
  | Partial<Record<'token' | 'username' | 'clientId', never>>;

/** The `Authorization` header of calls. */
interface Authorization {
  /** Undefined for the session cookie. */
  value(): Promise<string | undefined>;
  /** Forgets a value that the gateway refused. Resolves with true if another one can be had. */
  refused(value: string | undefined): Promise<boolean>;
}

interface IssuedToken {
  readonly access_token: string;
  /** Seconds. */
  readonly expires_in: number;
}

/** `issue` asks the gateway for a token by that Basic header. */
export function authorizationOf(credentials: Credentials, issue: (basic: string) => Promise<IssuedToken>): Authorization {
  if (credentials.token !== undefined) return fixed(`Bearer ${credentials.token}`);
  if (credentials.username !== undefined) return fixed(basicOf(credentials.username, credentials.password));
  if (credentials.clientId === undefined) return fixed(undefined);
  // RFC 6749, section 2.3.1: both are form-encoded before they become Basic.
  const basic = basicOf(formEncoded(credentials.clientId), formEncoded(credentials.clientSecret));
  return renewed(() => issue(basic));
}

function fixed(value: string | undefined): Authorization {
  return { value: () => Promise.resolve(value), refused: () => Promise.resolve(false) };
}

/** Milliseconds before its end at which a token is no longer used. */
const margin = 30_000;

interface HeldToken {
  readonly header: string;
  /** When it is no longer used, in milliseconds since the epoch. */
  readonly until: number;
}

/** Calls share one token, and ask for the next one before it ends. */
function renewed(issue: () => Promise<IssuedToken>): Authorization {
  let held: Promise<HeldToken> | undefined;
  const next = async (): Promise<HeldToken> => {
    const asked = Date.now();
    const { access_token: token, expires_in: seconds } = await issue();
    return { header: `Bearer ${token}`, until: asked + Math.max(seconds * 500, seconds * 1_000 - margin) };
  };
  const renew = (): Promise<HeldToken> => {
    const asked = next();
    held = asked;
    asked.catch(() => {
      if (held === asked) held = undefined;
    });
    return asked;
  };
  return {
    async value() {
      const { header, until } = await (held ?? renew());
      return Date.now() < until ? header : (await renew()).header;
    },
    async refused(value) {
      // Another call may have asked for the next token already.
      const current = await held?.catch(() => undefined);
      if (current?.header === value) held = undefined;
      return true;
    },
  };
}

/** RFC 7617 with UTF-8. */
function basicOf(name: string, secret: string): string {
  const bytes = new TextEncoder().encode(`${name}:${secret}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
