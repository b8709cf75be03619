import type { Secret } from '#base/secret.ts';
import { defined } from '#base/text/defined.ts';
import type { ProxyOptions } from '#outbound/dialling/proxy-connect.ts';
import { httpUrl } from './address-shapes.ts';
import { authorityFile, certificateFile, keyFile } from './pem-shapes.ts';
import { memberOf, report } from './place.ts';
import { duration, flag, label } from './scalar-shapes.ts';
import { basicPasswordFault, secret } from './secret-shape.ts';
import { defaulted, type Member, mapping, optional, required, type Shape } from './shape.ts';

/** Defaults differ by section. */
export function timeouts(defaults: { readonly firstByte: string; readonly idle: string; readonly total: string }) {
  const limit = duration('1d');
  return mapping({
    dns: defaulted(limit, '3s', 'DNS look-up of the host name.'),
    connect: defaulted(limit, '5s', 'TCP connection and TLS handshake.'),
    firstByte: defaulted(limit, defaults.firstByte, 'From the sending of the request to the first byte of the reply.'),
    idle: defaulted(limit, defaults.idle, 'Longest pause between two bytes of the reply.'),
    total: defaulted(limit, defaults.total, 'The whole call, with retries and redirects.'),
  });
}

/** A colon would end it (RFC 7617 section 2). `atMost`: characters. */
export function basicUsername(
  example: string,
  { type = 'user name', atMost }: { readonly type?: string; readonly atMost?: number } = {},
): Shape<string> {
  const fault = (value: string) => (value.includes(':') ? 'holds a colon, which HTTP Basic does not allow' : undefined);
  return label(defined({ type, example, atMost, refuse: fault }));
}

export const proxy: Shape<ProxyOptions> = mapping(
  {
    url: required(httpUrl({ example: 'http://proxy.example.net:3128', path: false }), 'Scheme, host and port of the proxy.'),
    username: optional(basicUsername('gateway'), 'User name at the proxy.'),
    password: optional(secret({ refuse: basicPasswordFault }), 'Password at the proxy.'),
    resolves: defaulted(flag, 'false', 'true: the proxy resolves host names, and the gateway does not check their addresses.'),
  },
  (place) => {
    const password = memberOf(place, 'password');
    if (password !== undefined && memberOf(place, 'username') === undefined) report(password, 'needs username');
  },
);

/** `caFile` replaces the default authorities; the others are a client certificate. */
export const tlsFiles: {
  readonly caFile: Member<string, false>;
  readonly certFile: Member<string, false>;
  readonly keyFile: Member<Secret, false>;
} = {
  caFile: optional(authorityFile, 'PEM file of trusted certificate authorities, in place of the default ones.'),
  certFile: optional(certificateFile, 'PEM file of a client certificate.'),
  keyFile: optional(keyFile, 'PEM file of its private key, unencrypted.'),
};
