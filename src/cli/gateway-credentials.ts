import { visible } from '#base/visible.ts';
import { askPasswords } from './ask-passwords.ts';
import type { CommandContext } from './command.ts';

/** The login for a gateway, or what is missing in it. `who`: for messages. */
type Credentials = { readonly authorization: string | undefined; readonly who: string } | { readonly fault: string };

/**
 * The login from the environment. `user` is the value of the option, or empty. A password never stands on the command line, where other
 * users of the machine see it. A terminal asks for a missing one.
 */
export async function credentialsOf(context: CommandContext, user: string): Promise<Credentials> {
  const { env, isTerminal, stdin, stderr } = context;
  const [named, token] = [env['GATEWAY_USER'] ?? '', env['GATEWAY_TOKEN'] ?? ''];
  if (user === '' && named !== '' && token !== '') {
    return { fault: 'GATEWAY_USER and GATEWAY_TOKEN are both set; unset one of them' };
  }
  const username = user || named;
  if (username === '') return token === '' ? { authorization: undefined, who: 'nobody' } : bearer(token);
  if (username.includes(':')) return { fault: 'a user name has no colon' };
  const password = env['GATEWAY_PASSWORD'] ?? '';
  if (password !== '') return basic(username, password);
  const [typed = ''] = isTerminal ? await askPasswords({ stdin, stderr, prompts: [`Password of ${visible(username)}: `] }) : [];
  return typed === '' ? { fault: 'there is no password; set GATEWAY_PASSWORD' } : basic(username, typed);
}

/** RFC 7617, UTF-8. */
function basic(username: string, password: string): Credentials {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return { authorization, who: `the user ${visible(username)}` };
}

function bearer(token: string): Credentials {
  return /^[!-~]+$/u.test(token)
    ? { authorization: `Bearer ${token}`, who: 'the owner of GATEWAY_TOKEN' }
    : { fault: 'GATEWAY_TOKEN is no token: it has white space or other characters' };
}
