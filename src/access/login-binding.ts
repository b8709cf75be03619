import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { cookiesIn } from './session-cookie.ts';

/** Seconds from the start of a login to its end at the latest. */
export const loginSeconds = 600;

/** Characters of a `state` at most; longer ones are refused without a look into them. */
const longestState = 4_096;

/** What a login has to remember until the issuer sends the browser back. */
export interface LoginState {
  /** Unique; a login ends once. */
  readonly id: string;
  readonly issuer: string;
  /** Where the person wanted to go: a path below the console. */
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Binds logins to a browser. The browser keeps one secret in a cookie. The `state` of each login is encrypted with it (AES-256-GCM). Its
 * code verifier and nonce are derived from it. So no gateway keeps anything, any gateway takes the callback, and tabs do not disturb each
 * other. Another browser has another secret, for which the `state` is no text at all.
 */
export interface LoginBinding {
  /** The `state`. It opens for this browser alone. */
  seal(state: LoginState): string;
  /** Undefined unless this browser's binding sealed it. */
  open(sealed: string): LoginState | undefined;
  /** The `code_verifier` of RFC 7636: 43 characters with 256 bits. */
  verifierOf(id: string): string;
  nonceOf(id: string): string;
}

export interface LoginCookie {
  /** The binding of the browser; a new one where it has none. With it the `Set-Cookie` value that makes it last until the login ends. */
  begin(header: string | undefined): { readonly binding: LoginBinding; readonly cookie: string };
  /** Undefined where the browser has no binding, or has two: one may be a cookie that a sibling domain planted. */
  read(header: string | undefined): LoginBinding | undefined;
}

/**
 * SameSite=Lax, because the callback comes from the page of the issuer. Over TLS the prefix `__Host-` keeps sibling domains from setting the
 * cookie, which would log their person in; it demands the path `/`. `path`: that of the login routes, for plain HTTP.
 */
export function createLoginCookie({ secure, path }: { readonly secure: boolean; readonly path: string }): LoginCookie {
  const name = `${secure ? '__Host-' : ''}orchestration_gateway_login`;
  const attributes = `Path=${secure ? '/' : path}; Max-Age=${loginSeconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  const secretIn = (header = ''): Buffer | undefined => {
    const [text, ...more] = cookiesIn(header, name);
    return text !== undefined && more.length === 0 && /^[\w-]{43}$/u.test(text) ? Buffer.from(text, 'base64url') : undefined;
  };
  return {
    begin(header) {
      const secret = secretIn(header) ?? randomBytes(32);
      return { binding: createBinding(secret), cookie: `${name}=${secret.toString('base64url')}; ${attributes}` };
    },
    read(header) {
      const secret = secretIn(header);
      return secret && createBinding(secret);
    },
  };
}

const algorithm = 'aes-256-gcm';
const ivLength = 12;
const tagLength = 16;

function createBinding(secret: Buffer): LoginBinding {
  const derived = (purpose: string): Buffer => createHmac('sha256', secret).update(purpose).digest();
  const key = derived('state');
  return {
    seal(state) {
      const iv = randomBytes(ivLength);
      const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagLength });
      const sealed = Buffer.concat([cipher.update(JSON.stringify(state)), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(text) {
      if (text.length > longestState || !/^[\w-]+$/u.test(text)) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      if (bytes.length <= ivLength + tagLength) return undefined;
      try {
        const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivLength), { authTagLength: tagLength });
        decipher.setAuthTag(bytes.subarray(ivLength, ivLength + tagLength));
        const opened = Buffer.concat([decipher.update(bytes.subarray(ivLength + tagLength)), decipher.final()]);
        const state: unknown = JSON.parse(opened.toString());
        return isState(state) ? state : undefined;
      } catch {
        return undefined;
      }
    },
    verifierOf: (id) => derived(`verifier ${id}`).toString('base64url'),
    nonceOf: (id) => derived(`nonce ${id}`).toString('base64url'),
  };
}

/** The person at the browser knows its secret, and can seal anything. */
function isState(value: unknown): value is LoginState {
  if (typeof value !== 'object' || value === null) return false;
  const { id, issuer, to, expiresAt } = value as Readonly<Record<string, unknown>>;
  return [id, issuer, to].every((text) => typeof text === 'string') && typeof expiresAt === 'number';
}
