/** A request of the API, for the programs that the console writes. */
export interface SnippetCall {
  readonly method: string;
  /** With its query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or empty. */
  readonly body: string;
  /** For the client: the operationId, and its options as a text of JavaScript. */
  readonly operation: string;
  readonly options: string;
}

/** The same call for a shell, for TypeScript, for Python and for Ansible. Each takes the login from the environment. */
export function snippetsOf(call: SnippetCall): readonly (readonly [language: string, text: string])[] {
  return [
    ['curl', curl(call)],
    ['TypeScript', typeScript(call)],
    ['Python', python(call)],
    ['Ansible', ansible(call)],
  ];
}

function curl({ method, url, headers, body }: SnippetCall): string {
  const lines = [`curl -X ${method} -u "$GATEWAY_USER:$GATEWAY_PASSWORD" ${shellText(url)}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${shellText(`${name}: ${value}`)}`);
  if (body !== '') lines.push(`-d ${shellText(body)}`);
  return lines.join(' \\\n  ');
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function typeScript({ url, operation, options }: SnippetCall): string {
  return [
    "import { createGateway } from '@orchestration-gateway/client';",
    '',
    `const gateway = createGateway({ baseUrl: ${JSON.stringify(new URL(url).origin)}, username: process.env.GATEWAY_USER, password: process.env.GATEWAY_PASSWORD });`,
    `const { text } = await gateway.${operation}(${options});`,
    'console.log(text);',
  ].join('\n');
}

function python({ method, url, headers, body }: SnippetCall): string {
  const given = [
    `    ${JSON.stringify(method)},`,
    `    ${JSON.stringify(url)},`,
    '    auth=(os.environ["GATEWAY_USER"], os.environ["GATEWAY_PASSWORD"]),',
    ...(Object.keys(headers).length === 0 ? [] : [`    headers=${JSON.stringify(headers)},`]),
    ...(body === '' ? [] : [`    data=${JSON.stringify(body)}.encode(),`]),
  ];
  return [
    'import os',
    'import requests',
    '',
    'reply = requests.request(',
    ...given,
    ')',
    'print(reply.status_code, reply.text)',
  ].join('\n');
}

/** `!unsafe`: Ansible takes a text for a template otherwise, and JSON for values whose digits it may change. */
function ansible({ method, url, headers, body }: SnippetCall): string {
  return [
    `- name: ${JSON.stringify(`${method} ${new URL(url).pathname}`)}`,
    '  ansible.builtin.uri:',
    `    url: !unsafe ${JSON.stringify(url)}`,
    `    method: ${method}`,
    "    url_username: \"{{ lookup('env', 'GATEWAY_USER') }}\"",
    "    url_password: \"{{ lookup('env', 'GATEWAY_PASSWORD') }}\"",
    '    force_basic_auth: true',
    ...(Object.keys(headers).length === 0 ? [] : ['    headers:']),
    ...Object.entries(headers).map(([name, value]) => `      ${name}: !unsafe ${JSON.stringify(value)}`),
    ...(body === '' ? [] : [`    body: !unsafe ${JSON.stringify(body)}`]),
    '    return_content: true',
    '  register: reply',
  ].join('\n');
}
