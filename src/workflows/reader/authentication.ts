import type { Located } from '#yaml/located.ts';
import { shown } from '#yaml/wording.ts';
import { pairSuffix } from '../secret-mentions.ts';
import type { Expression } from '../workflow.ts';
import type { Context } from './context.ts';
import { suggestion } from './definitions.ts';
import { quoted } from './jq-source.ts';
import { membersOf } from './members.ts';
import type { Scope } from './scope.ts';
import { collection, inner, nothing, textOrExpression } from './template.ts';

const reason =
  'is not supported: the gateway authenticates by basic or bearer; get a token with a call of its own and send it as bearer';

const refused = {
  digest: reason,
  oauth2: reason,
  oidc: reason,
  certificate: 'is not supported: client certificates are part of the configuration of the gateway (outbound.tls)',
} as const;

const schemes = ['basic', 'bearer'] as const;

/** `authentication` of an endpoint or a call: a policy, or `use` with the name of one. */
export function authentication(context: Context, node: Located, scope: Scope): Expression {
  const use = node.kind === 'object' ? node.members.find(({ name }) => name === 'use') : undefined;
  if (use === undefined) return policy(context, node, scope);
  const members = membersOf(context.reading, node, { wanted: 'an object', known: ['use'] });
  const name = members.text('use', 'the name of an authentication in use.authentications');
  const found = name === undefined ? undefined : context.definitions.find(context.reading, 'authentications', name, use.value);
  return found === undefined ? nothing : policy(context, found, scope);
}

/** `{ basic }` or `{ bearer }`. */
export function policy(context: Context, node: Located, scope: Scope): Expression {
  const { reading } = context;
  const members = membersOf(reading, node, { wanted: 'an object with "basic" or "bearer"', known: schemes, refused });
  const given = schemes.filter((scheme) => members.get(scheme) !== undefined);
  const [scheme] = given;
  const value = scheme === undefined ? undefined : members.get(scheme);
  if (
    node.kind === 'object' &&
    (given.length > 1 || (scheme === undefined && !node.members.some(({ name }) => Object.hasOwn(refused, name))))
  )
    reading.problem(node, 'needs exactly one of "basic" and "bearer"');
  if (scheme === undefined || value === undefined) return nothing;
  return collection('{}', [[`"${scheme}":`, credentials(context, value, scope, scheme)]]);
}

function credentials(context: Context, node: Located, scope: Scope, scheme: 'basic' | 'bearer'): Expression {
  const fields = scheme === 'basic' ? ['username', 'password'] : ['token'];
  const bySecret = node.kind === 'object' && node.members.some(({ name }) => name === 'use');
  const wanted = `an object with ${fields.map((field) => `"${field}"`).join(' and ')}, or with "use" and the name of a secret`;
  const members = membersOf(context.reading, node, { wanted, known: bySecret ? ['use'] : fields });
  if (bySecret) return secret(context, node, members.text('use', 'the name of a secret'), scheme);
  if (node.kind !== 'object') return nothing;
  return collection(
    '{}',
    fields.map((field) => {
      const value = members.required(field, `the ${field} to send; use the name of a secret to keep it out of the document`);
      return [`"${field}":`, value === undefined ? nothing : textOrExpression(context, value, scope, 'text in quotes')] as const;
    }),
  );
}

/** A secret is the token itself, or `username:password`; or an object with the members. Of all of them jq has placeholders. */
function secret(
  { reading, definitions }: Context,
  node: Located,
  name: string | undefined,
  scheme: 'basic' | 'bearer',
): Expression {
  if (name === undefined) return nothing;
  if (!definitions.secrets.includes(name))
    reading.problem(node, `${shown(name)} is not listed in use.secrets${suggestion(name, definitions.secrets)}`);
  const message = quoted(`the secret ${name} has no username:password`);
  const pair = `$secrets[${quoted(`${name}${pairSuffix}`)}] // error(${message})`;
  const read = scheme === 'basic' ? pair : '{token: .}';
  return { jq: inner({ jq: `$secrets[${quoted(name)}] | if type == "object" then . else ${read} end` }) };
}
