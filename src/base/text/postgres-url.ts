/** A PostgreSQL URL, as `store.url` has it, read. */
interface PostgresHosts {
  /** One URL for each host, in the order of the list. All else in them is the same. They may hold a password. */
  readonly urls: readonly string[];
  /** A connection goes only to a host that takes writes. */
  readonly needsPrimary: boolean;
}

/**
 * Reads a URL of one host, or of several in the form of libpq: `postgres://user@h1:5432,h2:5432/db?target_session_attrs=read-write`. Answers
 * what is wrong with it as a text that continues "store.url …" and quotes nothing of the URL, which may hold a password.
 */
export function readPostgresUrl(url: string): PostgresHosts | string {
  if (/[\s\p{Cc}]/u.test(url)) return invalid;
  const { hosts, urls } = hostsOf(url);
  const fault = hosts.length > 1 ? faultOfHosts(hosts) : faultOfHost(hosts[0]);
  if (fault !== undefined) return fault;
  const read = urls.map((one) => URL.parse(one)).filter((one) => one !== null);
  const [first] = read;
  if (first === undefined || read.length < urls.length) return invalid;
  const needsPrimary = hosts.length > 1 || first.searchParams.has('target_session_attrs');
  return faultOfRest(first, hosts.length) ?? { urls, needsPrimary };
}

/** The hosts as written, and the URL of each. */
function hostsOf(url: string): { readonly hosts: readonly string[]; readonly urls: readonly string[] } {
  const { before = '', list = '', rest = '' } = parts.exec(url)?.groups ?? {};
  const hosts = list.split(',');
  return { hosts, urls: hosts.map((host) => `${before}${host}${rest}`) };
}

/** The user and the password end at the last `@` before the path. */
const parts = /^(?<before>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<list>[^/?#@]*)(?<rest>.*)$/u;
const invalid = 'is no valid PostgreSQL URL; write postgres://user@host/database and percent-encode special characters';

function faultOfRest({ pathname, searchParams }: URL, hosts: number): string | undefined {
  if (pathname.length < 2) return 'names no database; write postgres://user@host/database';
  if (searchParams.getAll('target_session_attrs').some((value) => value !== 'read-write'))
    return 'has another target_session_attrs than read-write; the gateway needs a host that takes writes, so write target_session_attrs=read-write';
  return hosts > 1 && ['host', 'hostaddr', 'port'].some((name) => searchParams.has(name))
    ? 'has several hosts, and host, hostaddr or port after the "?"; write every host with its port before the database'
    : undefined;
}

function faultOfHosts(hosts: readonly string[]): string | undefined {
  if (hosts.some((host) => /^(?::\d*)?$/u.test(host))) return 'has an empty host in its list of hosts';
  if (hosts.some((host) => /^%2f/iu.test(host)))
    return 'has a Unix socket in its list of hosts; a socket is of this machine alone, so write names or addresses';
  const fault = hosts.map((host) => faultOfHost(host)).find((found) => found !== undefined);
  if (fault !== undefined) return fault;
  const withPort = hosts.filter((host) => portOf(host) !== undefined).length;
  return withPort === 0 || withPort === hosts.length
    ? undefined
    : 'has a port for some of its hosts only; write one after each host, or none for 5432';
}

function faultOfHost(host = ''): string | undefined {
  if (!host.startsWith('[') && host.split(':').length > 2)
    return 'has an IPv6 address without brackets; write e.g. [fd00::1]:5432';
  const port = portOf(host);
  return port === undefined || (/^\d+$/u.test(port) && Number(port) > 0 && Number(port) < 65_536)
    ? undefined
    : 'has a port that is no number from 1 to 65535';
}

function portOf(host: string): string | undefined {
  return /^(?:\[[^\]]*\]|[^:]*):(?<port>.*)$/u.exec(host)?.groups?.['port'];
}
