import { signal } from '@preact/signals';
import { createGateway, type Gateway, GatewayError, type OperationName, operations, type Principal } from '#client/gateway.ts';
import { gatewayAddress } from './address.ts';

/** Calls the gateway with the session cookie of the browser. */
export const gateway: Gateway = createGateway({ baseUrl: gatewayAddress.href });

/** Who is logged in: `unknown` until the gateway said it. */
export const principal = signal<Principal | 'unknown' | 'none'>('unknown');

/** Why there is no session, for the login page. */
export const loginNotice = signal('');

/** Asks the gateway who is logged in. Rejects where it cannot say. */
export async function recogniseCaller(): Promise<void> {
  try {
    principal.value = (await gateway.whoami()).value;
  } catch (error) {
    if (!isWithoutSession(error)) throw error;
    principal.value = 'none';
  }
}

export async function logIn(username: string, password: string): Promise<void> {
  await gateway.login({ body: { username, password } });
  loginNotice.value = '';
  await recogniseCaller();
}

export async function logOut(): Promise<void> {
  await gateway.logout();
  principal.value = 'none';
}

/** Leads to the login page where a session has ended. */
export function noticeEndOf(error: unknown): void {
  if (!isWithoutSession(error) || principal.value === 'none') return;
  loginNotice.value = 'Your session has ended. Log in again to go on.';
  principal.value = 'none';
}

function isWithoutSession(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'unauthenticated';
}

/** Whether a role or a right lets the caller use an operation, so that the console offers it. The gateway decides all the same. */
export function may(name: OperationName): boolean {
  const caller = principal.value;
  if (typeof caller === 'string') return operations[name].roles === 'everyone';
  return caller.operations.includes(name);
}
