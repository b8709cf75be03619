import { visible } from '#base/visible.ts';
import type { Credentials } from '#client/gateway.ts';
import { askPasswords } from './ask-passwords.ts';
import type { CommandContext } from './command.ts';

/** The login for a gateway, or what is missing in it. `who`: for messages. */
type Login =
  | { readonly credentials: Credentials; readonly kind: 'password' | 'token' | 'none'; readonly who: string }
  | { readonly fault: string };

/**
 * The login from the environment. `user` is the value of the option, or empty. A password is never on the command line, where other
 * users of the machine see it. A terminal asks for a missing one.
 */
export async function credentialsOf(context: CommandContext, user: string): Promise<Login> {
  const named = context.env['GATEWAY_USER'] ?? '';
  const token = context.env['GATEWAY_TOKEN'] ?? '';
  if (user === '' && token !== '') {
    return named === '' ? bearer(token) : { fault: 'GATEWAY_USER and GATEWAY_TOKEN are both set; unset one of them' };
  }
  const username = user || named;
  if (username === '') return { credentials: {}, kind: 'none', who: 'a caller without a login' };
  return await passwordLogin(context, username);
}

async function passwordLogin(context: CommandContext, username: string): Promise<Login> {
  if (username.includes(':')) return { fault: 'a user name has no colon' };
  const password = context.env['GATEWAY_PASSWORD'] || (await typedPassword(context, username));
  return password === ''
    ? { fault: 'there is no password; set GATEWAY_PASSWORD' }
    : { credentials: { username, password }, kind: 'password', who: `the user ${visible(username)}` };
}

/** Empty without a terminal. */
async function typedPassword({ isTerminal, stdin, stderr }: CommandContext, username: string): Promise<string> {
  if (!isTerminal) return '';
  const [typed = ''] = await askPasswords({ stdin, stderr, prompts: [`Password of ${visible(username)}: `] });
  return typed;
}

function bearer(token: string): Login {
  return /^[!-~]+$/u.test(token)
    ? { credentials: { token }, kind: 'token', who: 'the owner of GATEWAY_TOKEN' }
    : { fault: 'GATEWAY_TOKEN is no token: it has white space or other characters' };
}
