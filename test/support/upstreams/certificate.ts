import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate and its key as PEM texts. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

interface Subject {
  /** The host names and addresses of the certificate. */
  readonly names?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** A certificate authority for one test, made with node:crypto alone: a machine may have no openssl. */
interface Authority {
  readonly cert: string;
  issue(subject: Subject): Identity;
  /** An intermediate authority: its certificate is signed by this one. */
  subordinate(commonName: string): Authority;
}

interface Issuer {
  readonly commonName: string;
  readonly key: KeyObject;
}

/** Creates an authority: an intermediate one of `issuer`, or a self-signed root without it. */
export function createAuthority(commonName = 'test authority', issuer?: Issuer): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const self = { commonName, key: keys.privateKey };
  return {
    cert: certificate({ issuer: issuer ?? self, commonName, publicKey: keys.publicKey, authority: true }),
    issue(subject) {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const fields = { issuer: self, commonName: 'test upstream', publicKey: own.publicKey, authority: false };
      return { cert: certificate({ ...subject, ...fields }), key: pem(own.privateKey) };
    },
    subordinate: (name) => createAuthority(name, self),
  };
}

export function selfSigned(subject: Subject): Identity {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { commonName: 'self', key: keys.privateKey };
  return {
    cert: certificate({ ...subject, issuer, commonName: 'self', publicKey: keys.publicKey, authority: false }),
    key: pem(keys.privateKey),
  };
}

interface CertificateFields extends Subject {
  readonly issuer: Issuer;
  readonly commonName: string;
  readonly publicKey: KeyObject;
  readonly authority: boolean;
}

/** RFC 5280 4.1, version 3, ECDSA with SHA-256. */
function certificate(fields: CertificateFields): string {
  const day = 86_400_000;
  const { notBefore = new Date(Date.now() - day), notAfter = new Date(Date.now() + 30 * day) } = fields;
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    algorithm,
    distinguishedName(fields.issuer.commonName),
    sequence(time(notBefore), time(notAfter)),
    distinguishedName(fields.commonName),
    fields.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions(fields))),
  );
  const signature = sign('sha256', toBeSigned, fields.issuer.key);
  const der = sequence(toBeSigned, algorithm, bitString(signature));
  return `-----BEGIN CERTIFICATE-----\n${der
    .toString('base64')
    .match(/.{1,64}/gu)
    ?.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function extensions({ authority, names = [] }: CertificateFields): Buffer[] {
  const basicConstraints = authority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  const found = [sequence(oid('2.5.29.19'), tagged(0x01, Buffer.from([0xff])), octetString(basicConstraints))];
  if (names.length > 0) found.push(sequence(oid('2.5.29.17'), octetString(sequence(...names.map(generalName)))));
  return found;
}

/** dNSName or iPAddress (RFC 5280 4.2.1.6). */
function generalName(name: string): Buffer {
  if (isIP(name) === 0) return tagged(0x82, Buffer.from(name, 'latin1'));
  if (isIP(name) === 4) return tagged(0x87, Buffer.from(name.split('.').map(Number)));
  if (name !== '::1') throw new Error('of IPv6 only ::1 is needed so far');
  return tagged(0x87, Buffer.from([...Array.from({ length: 15 }, () => 0), 1]));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('2.5.4.3'), tagged(0x0c, Buffer.from(commonName, 'utf8')))));
}

/** GeneralizedTime for every year: OpenSSL accepts it before 2050 as well. */
function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(date.toISOString().replaceAll(/[-:T]|\.\d+/gu, ''), 'latin1'));
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
  return groups;
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function octetString(bytes: Buffer): Buffer {
  return tagged(0x04, bytes);
}

/** Tag, length (X.690 8.1.3), content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' });
}
