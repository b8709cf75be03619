import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';

/** What the chains are made with: a key for their MACs, and an Ed25519 pair for what is signed (checkpoints, anchors). */
export interface AuditKey {
  readonly macKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** As the store keeps it, base64url each. */
interface StoredAuditKey {
  readonly macKey: string;
  readonly privateKey: string;
  readonly publicKey: string;
}

export function newAuditKey(): StoredAuditKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    macKey: randomBytes(32).toString('base64url'),
    privateKey: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url'),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64url'),
  };
}

export function readAuditKey(stored: StoredAuditKey): AuditKey {
  const der = (text: string): Buffer => Buffer.from(text, 'base64url');
  return {
    // A fifth quicker for each MAC than the key's bytes.
    macKey: createSecretKey(der(stored.macKey)),
    privateKey: createPrivateKey({ key: der(stored.privateKey), format: 'der', type: 'pkcs8' }),
    publicKey: createPublicKey({ key: der(stored.publicKey), format: 'der', type: 'spki' }),
  };
}

/** The Ed25519 signature of the values, base64url. */
export function signed(key: AuditKey, values: readonly (string | number)[]): string {
  return sign(undefined, Buffer.from(values.join('\n')), key.privateKey).toString('base64url');
}

export function isSigned(key: AuditKey, values: readonly (string | number)[], signature: string): boolean {
  return verify(undefined, Buffer.from(values.join('\n')), key.publicKey, Buffer.from(signature, 'base64url'));
}
