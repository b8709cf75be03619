import dns from 'node:dns';

/** Loaded into a gateway by `--import`: a look-up of all addresses of localhost answers 127.0.0.1 and ::1. */
const { lookup } = dns;
const both = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];
Object.assign(dns, {
  lookup(host: string, options: dns.LookupAllOptions, done: (error: Error | null, addresses: typeof both) => void) {
    if (host === 'localhost' && typeof options === 'object' && options.all) setImmediate(done, null, both);
    else Reflect.apply(lookup, dns, [host, options, done]);
  },
});
