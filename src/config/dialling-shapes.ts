import type { Secret } from '#base/secret.ts';
import type { ProxyOptions } from '#outbound/proxy-connect.ts';
import { httpUrl } from './address-shapes.ts';
import { certificateFile, keyFile } from './pem-shapes.ts';
import { memberOf } from './place.ts';
import { duration, flag, label } from './scalar-shapes.ts';
import { basicPasswordFault, secret } from './secret-shape.ts';
import { defaulted, type Member, mapping, optional, required, type Shape } from './shape.ts';

/** Time limits of one call; the defaults of the two places that dial out differ. */
export function timeouts(defaults: { readonly firstByte: string; readonly idle: string; readonly total: string }) {
  const limit = duration('1d');
  return mapping({
    dns: defaulted(limit, '3s', 'Look-up of the host name.'),
    connect: defaulted(limit, '5s', 'TCP connection and TLS handshake.'),
    firstByte: defaulted(limit, defaults.firstByte, 'From the request sent to the first byte of the reply.'),
    idle: defaulted(limit, defaults.idle, 'Longest pause within the reply.'),
    total: defaulted(limit, defaults.total, 'The whole call, retries and redirects included.'),
  });
}

/** A name for HTTP Basic: no colon, which would end it (RFC 7617 section 2). `atMost` is in characters. */
export function basicUsername(
  example: string,
  { type = 'user name', atMost }: { readonly type?: string; readonly atMost?: number } = {},
): Shape<string> {
  return label({
    type,
    example,
    ...(atMost === undefined ? {} : { atMost }),
    refuse: (value) => (value.includes(':') ? 'holds a colon, which HTTP Basic cannot carry' : undefined),
  });
}

/** An HTTP proxy to dial through. */
export const proxy: Shape<ProxyOptions> = mapping(
  {
    url: required(httpUrl({ example: 'http://proxy.example.net:3128', path: false }), 'Scheme, host and port of the proxy.'),
    username: optional(basicUsername('gateway'), 'User name at the proxy.'),
    password: optional(secret({ refuse: basicPasswordFault }), 'Password at the proxy.'),
    resolves: defaulted(flag, 'false', 'Hands host names to the proxy instead of checked addresses, and with them the trust.'),
  },
  (place) => {
    const password = memberOf(place, 'password');
    if (password !== undefined && memberOf(place, 'username') === undefined)
      place.reading.problem(password, 'needs username beside it');
  },
);

/** The files of a TLS client: `caFile` replaces the usual authorities, the other two present a client certificate. */
export const tlsFiles: {
  readonly caFile: Member<string, false>;
  readonly certFile: Member<string, false>;
  readonly keyFile: Member<Secret, false>;
} = {
  caFile: optional(certificateFile, 'PEM file of the certificate authorities to trust instead of the usual ones.'),
  certFile: optional(certificateFile, 'PEM file of a client certificate to present.'),
  keyFile: optional(keyFile, 'PEM file of its private key, not encrypted.'),
};
