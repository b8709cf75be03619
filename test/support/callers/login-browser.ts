import type { Gateway } from '../gateway/start-gateway.ts';
import { callerIn } from './calls.ts';
import type { Reply } from './http-client.ts';

/** A browser without pages: it keeps the cookies of the gateway, and opens the addresses that a test names. */
export class LoginBrowser {
  readonly cookies = new Map<string, string>();
  #gateway: Gateway;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** From now on its requests reach another gateway, as behind a load balancer. */
  useGateway(gateway: Gateway): void {
    this.#gateway = gateway;
  }

  /** Opens an address of the gateway. `headers` are sent in addition. */
  async open(target: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await this.#gateway.send({ target, headers: { ...(cookie === '' ? {} : { Cookie: cookie }), ...headers } });
    for (const [header, value] of reply.headers) if (header.toLowerCase() === 'set-cookie') this.#keep(value);
    return reply;
  }

  #keep(setCookie: string): void {
    const [pair = '', ...attributes] = setCookie.split('; ');
    const [name = '', value = ''] = pair.split('=');
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }

  /** Begins a login: the address at the issuer to which the gateway leads. */
  async begin(query = ''): Promise<string> {
    const reply = await this.open(`/login/oidc${query}`);
    return reply.header('location') ?? '';
  }

  /** The name at the gateway, or the status without one. */
  async who(): Promise<unknown> {
    const reply = await this.open('/whoami');
    return reply.status === 200 ? callerIn(reply) : reply.status;
  }
}
