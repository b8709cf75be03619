import { addressRange, hostName, httpUrl } from './address-shapes.ts';
import { certificateFile, isPair, keyFile } from './pem-shapes.ts';
import { choice, duration, flag, integer, size } from './scalar-shapes.ts';
import { defaulted, list, mapped, mapping, optional, required } from './shape.ts';

const serverTls = mapped(
  mapping({
    certFile: required(certificateFile, "PEM file of the gateway's certificate, followed by its chain."),
    keyFile: required(keyFile, 'PEM file of its private key, unencrypted.'),
  }),
  ({ certFile: cert, keyFile: key }, place) => (isPair(place, cert, key) ? { cert, key } : undefined),
);

export const serverSection = mapping({
  host: defaulted(hostName, '127.0.0.1', 'Address to listen on. 0.0.0.0 or :: means every interface.'),
  port: defaulted(
    integer(0, 65_535),
    '3000',
    'Port to listen on. With 0 the gateway takes a free port and prints it in the ready line.',
  ),
  tls: optional(serverTls, 'With it the gateway serves HTTPS instead of HTTP.'),
  requestBodyLimit: defaulted(size('256MiB'), '10MiB', 'Largest request body; a larger one gets 413.'),
  openMetrics: defaulted(flag, 'false', 'true: `/metrics` needs no credentials.'),
  console: defaulted(flag, 'true', 'false: the gateway serves no console.'),
  trustedProxies: defaulted(
    list(addressRange),
    '[]',
    'Proxies in front of the gateway whose `X-Forwarded-For` the gateway trusts.',
  ),
  publicUrl: optional(
    httpUrl({ example: 'https://gateway.example.net', path: true }),
    'Where callers reach the gateway, such as behind a proxy that ends TLS. A proxy removes its path, if it has one.',
  ),
  rateLimit: optional(
    mapping({
      calls: required(integer(1, 1_000_000_000), 'Calls that each principal may make in a period.'),
      per: required(duration('1d'), 'Length of the period.'),
    }),
    'Limit for the calls of each principal; further calls get 429. Without the key there is no limit.',
  ),
  logLevel: defaulted(
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace'),
    'info',
    'Lowest level of the log lines to write.',
  ),
});
