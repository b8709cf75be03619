import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { cookiesIn } from '../tokens/session-cookie.ts';

/** From the start of a login to its end. */
export const loginSeconds = 600;

/** Characters; longer ones are refused unread. */
const maxStateLength = 4_096;

export interface LoginState {
  /** Unique; a login ends once. */
  readonly id: string;
  readonly issuer: string;
  /** A path below the console. */
  readonly to: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type LoginCookie = ReturnType<typeof createLoginCookie>;

/**
 * SameSite=Lax, because the callback comes from the page of the issuer. Over TLS the prefix `__Host-` keeps sibling domains from setting
 * the cookie, which would log their person in; it demands the path `/`. `path`: for plain HTTP.
 */
export function createLoginCookie({ secure, path }: { readonly secure: boolean; readonly path: string }) {
  const name = `${secure ? '__Host-' : ''}orchestration_gateway_login`;
  const attributes = `Path=${secure ? '/' : path}; Max-Age=${loginSeconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  const secretIn = (header = ''): Buffer | undefined => {
    const [text, ...more] = cookiesIn(header, name);
    return text !== undefined && more.length === 0 && /^[\w-]{43}$/u.test(text) ? Buffer.from(text, 'base64url') : undefined;
  };
  return {
    /** `cookie`: the `Set-Cookie` value that makes the binding last until the login ends. */
    begin(header: string | undefined) {
      const secret = secretIn(header) ?? randomBytes(32);
      return { binding: createBinding(secret), cookie: `${name}=${secret.toString('base64url')}; ${attributes}` };
    },
    /** Undefined for no binding, or two: a sibling domain may have planted one. */
    read(header: string | undefined): LoginBinding | undefined {
      const secret = secretIn(header);
      return secret && createBinding(secret);
    },
  };
}

const algorithm = 'aes-256-gcm';
const ivLength = 12;
const tagLength = 16;

export type LoginBinding = ReturnType<typeof createBinding>;

/**
 * The browser keeps one secret in a cookie. The `state` of each login is encrypted with it (AES-256-GCM); code verifier and nonce are
 * derived from it. So no gateway keeps anything, any gateway takes the callback, and tabs do not disturb each other. For another browser's
 * secret the `state` is no text at all.
 */
function createBinding(secret: Buffer) {
  const derive = (purpose: string): Buffer => createHmac('sha256', secret).update(purpose).digest();
  const key = derive('state');
  return {
    /** Answers the `state`. */
    seal(state: LoginState): string {
      const iv = randomBytes(ivLength);
      const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagLength });
      const sealed = Buffer.concat([cipher.update(JSON.stringify(state)), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    /** Undefined unless this browser's binding sealed it. */
    open(text: string): LoginState | undefined {
      if (text.length > maxStateLength || !/^[\w-]+$/u.test(text)) return undefined;
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
    /** The `code_verifier` of RFC 7636: 43 characters with 256 bits. */
    verifierOf: (id: string) => derive(`verifier ${id}`).toString('base64url'),
    nonceOf: (id: string) => derive(`nonce ${id}`).toString('base64url'),
  };
}

/** The person at the browser knows its secret, and can seal anything. */
function isState(value: unknown): value is LoginState {
  if (typeof value !== 'object' || value === null) return false;
  const { id, issuer, to, expiresAt } = value as Readonly<Record<string, unknown>>;
  return [id, issuer, to].every((text) => typeof text === 'string') && typeof expiresAt === 'number';
}
