import { hostRule } from './address-shapes.ts';
import { proxy, timeouts, tlsFiles } from './dialling-shapes.ts';
import { certificateWithKey, clientTls } from './pem-shapes.ts';
import { integer, size } from './scalar-shapes.ts';
import { defaulted, list, mapped, mapping, optional } from './shape.ts';

export const outboundTimeouts = timeouts({ firstByte: '30s', idle: '15s', total: '30s' });

export const outboundSection = mapping({
  allow: defaulted(
    list(hostRule),
    '[]',
    'Destinations allowed in addition to public addresses: host, `*.suffix`, address or CIDR, each with an optional `:port`.',
  ),
  deny: defaulted(list(hostRule), '[]', 'Destinations denied, even if `allow` has them.'),
  timeouts: defaulted(outboundTimeouts, '{}', 'Time limits of one call.'),
  responseLimit: defaulted(size('1024GiB'), '64MiB', 'Largest reply body, after decompression.'),
  redirects: defaulted(
    integer(0, 20),
    '5',
    'Redirects that one call may follow; a further one is an error. With 0 the redirect itself is the answer.',
  ),
  tls: optional(mapped(mapping(tlsFiles, certificateWithKey), clientTls), 'Certificates for HTTPS destinations.'),
  proxy: optional(proxy, 'Proxy for all calls of `restCall`.'),
});
