import { hostRule } from './address-shapes.ts';
import { proxy, timeouts, tlsFiles } from './dialling-shapes.ts';
import { certificateWithKey, clientTls } from './pem-shapes.ts';
import { integer, size } from './scalar-shapes.ts';
import { defaulted, list, mapped, mapping, optional } from './shape.ts';

export const outboundSection = mapping({
  allow: defaulted(
    list(hostRule),
    '[]',
    'Destinations admitted beside the public ones: host, *.suffix, address or CIDR, each with an optional :port.',
  ),
  deny: defaulted(list(hostRule), '[]', 'Destinations refused, whatever allow says.'),
  timeouts: defaulted(timeouts({ firstByte: '30s', idle: '15s', total: '30s' }), '{}', 'Time limits of one call.'),
  responseLimit: defaulted(size('1024GiB'), '64MiB', 'Largest reply, counted after decompression.'),
  redirects: defaulted(integer(0, 20), '5', 'Redirects followed before the call fails; 0 follows none.'),
  tls: optional(mapped(mapping(tlsFiles, certificateWithKey), clientTls), 'Certificates for HTTPS destinations.'),
  proxy: optional(proxy, 'Proxy for every outbound REST call.'),
});
