import type { Command } from '../../command.ts';
import { print } from '../../output.ts';

/** Where a client reads its servers, and how it writes this one. No configuration holds a token. */
interface AgentClient {
  readonly title: string;
  readonly file: string;
  readonly write: (url: string) => object;
}

const name = 'orchestration-gateway';

/** By the pages of their makers. */
const clients: Readonly<Record<string, AgentClient>> = {
  'claude-code': {
    title: 'Claude Code',
    file: '.mcp.json in the project',
    write: (url) => ({
      mcpServers: { [name]: { type: 'http', url, headers: { Authorization: 'Bearer ${GATEWAY_TOKEN}' } } },
    }),
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    file: 'claude_desktop_config.json, with the token in place of TOKEN',
    // It starts programs alone; mcp-remote is one that speaks HTTP.
    write: (url) => ({
      mcpServers: {
        [name]: {
          command: 'npx',
          args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'],
          env: { AUTHORIZATION: 'Bearer TOKEN' },
        },
      },
    }),
  },
  vscode: {
    title: 'Visual Studio Code',
    file: '.vscode/mcp.json in the project; it asks for the token',
    write: (url) => ({
      inputs: [{ type: 'promptString', id: 'gateway-token', description: 'Token of the Orchestration Gateway', password: true }],
      servers: { [name]: { type: 'http', url, headers: { Authorization: 'Bearer ${input:gateway-token}' } } },
    }),
  },
  cursor: {
    title: 'Cursor',
    file: '.cursor/mcp.json in the project',
    write: (url) => ({ mcpServers: { [name]: { url, headers: { Authorization: 'Bearer ${env:GATEWAY_TOKEN}' } } } }),
  },
};

/** JSON texts. `url`: of the gateway. */
export function clientConfigurations(url: string): readonly (Pick<AgentClient, 'file' | 'title'> & { readonly text: string })[] {
  return Object.values(clients).map((client) => ({ ...client, text: textOf(client, url) }));
}

function textOf(client: AgentClient, url: string): string {
  return `${JSON.stringify(client.write(`${url.replace(/\/+$/u, '')}/mcp`), undefined, 2)}\n`;
}

export const mcpConfig: Command = {
  name: 'mcp-config',
  summary: 'print the configuration of MCP clients for a gateway',
  description: [
    'Print what agents need to reach the gateway, for each client or for one. The token stays outside: in the',
    'variable GATEWAY_TOKEN, or where the client asks for it. With --client the output is JSON alone.',
  ],
  options: {
    url: { value: 'URL', meaning: 'the gateway (default: GATEWAY_URL, otherwise http://127.0.0.1:3000)' },
    client: {
      value: 'CLIENT',
      meaning: 'claude-code, claude-desktop, vscode or cursor',
      values: Object.keys(clients),
    },
  },
  operands: [],
  async run({ stdout, stderr, env }, { option }) {
    const given = option('url') || env['GATEWAY_URL'] || 'http://127.0.0.1:3000';
    if (!URL.canParse(given) || !/^https?:/u.test(given)) {
      stderr.write(`orchestration-gateway mcp-config: the address ${JSON.stringify(given)} is no http or https URL\n`);
      return 2;
    }
    const chosen = clients[option('client')];
    const all = clientConfigurations(given).map(({ title, file, text }) => `# ${title}: ${file}\n${text}`);
    await print(stdout, chosen === undefined ? all.join('\n') : textOf(chosen, given));
    return 0;
  },
};
