import dns from 'node:dns';

/** Loaded into a gateway (`--import`): a machine whose localhost is 127.0.0.1 and ::1 for whoever asks for all of its addresses. */
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
