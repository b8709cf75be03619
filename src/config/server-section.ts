import { addressRange, hostName } from './address-shapes.ts';
import { certificateFile, isPair, keyFile } from './pem-shapes.ts';
import { choice, duration, flag, integer, size } from './scalar-shapes.ts';
import { defaulted, list, mapped, mapping, optional, required } from './shape.ts';

const serverTls = mapped(
  mapping({
    certFile: required(certificateFile, "PEM file of the gateway's certificate, its chain after it."),
    keyFile: required(keyFile, 'PEM file of its private key, not encrypted.'),
  }),
  ({ certFile: cert, keyFile: key }, place) => (isPair(place, cert, key) ? { cert, key } : undefined),
);

export const serverSection = mapping({
  host: defaulted(hostName, '127.0.0.1', 'Address to listen on; 0.0.0.0 or :: for every interface.'),
  port: defaulted(integer(0, 65_535), '3000', 'Port to listen on; 0 takes a free one, which the ready line prints.'),
  tls: optional(serverTls, 'Serves HTTPS instead of HTTP.'),
  requestBodyLimit: defaulted(size('256MiB'), '10MiB', 'Largest request body; beyond it the answer is 413.'),
  openMetrics: defaulted(flag, 'false', 'Lets anyone read /metrics, without credentials.'),
  trustedProxies: defaulted(list(addressRange), '[]', 'Proxies in front of the gateway whose X-Forwarded-For is believed.'),
  rateLimit: optional(
    mapping({
      calls: required(integer(1, 1_000_000_000), 'Calls that are free in each period.'),
      per: required(duration('1d'), 'Length of the period.'),
    }),
    'Limits the calls of each principal; beyond it the answer is 429. Absent: no limit.',
  ),
  logLevel: defaulted(choice('fatal', 'error', 'warn', 'info', 'debug', 'trace'), 'info', 'Least severe log lines to write.'),
});
