import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  InMemoryServerEventBus,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Owner } from '../owner.ts';
import { askingPrompt, fixtureTools, png } from './fixture-tools.ts';

const userText = (text: string) => ({ role: 'user', content: { type: 'text', text } });

const prompts = {
  test_simple_prompt: [],
  test_prompt_with_arguments: ['arg1', 'arg2'],
  test_prompt_with_embedded_resource: ['resourceUri'],
  test_prompt_with_image: [],
  test_input_required_result_prompt: [],
} as const;

function messagesOf(name: string, given: Readonly<Record<string, string>>): readonly object[] {
  if (name === 'test_simple_prompt') return [userText('This is a simple prompt for testing.')];
  if (name === 'test_prompt_with_arguments')
    return [userText(`Prompt with arguments: arg1='${given['arg1']}', arg2='${given['arg2']}'`)];
  if (name === 'test_prompt_with_image')
    return [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      userText('Please analyze the image above.'),
    ];
  const resource = { uri: given['resourceUri'], mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
  return [{ role: 'user', content: { type: 'resource', resource } }, userText('Please process the embedded resource above.')];
}

const resources = [
  { uri: 'test://static-text', name: 'static-text', description: 'A text.', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static-binary', description: 'An image.', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched', description: 'A text to watch.', mimeType: 'text/plain' },
];

function contentOf(uri: string): object {
  if (uri === 'test://static-binary') return { uri, mimeType: 'image/png', blob: png };
  if (uri === 'test://static-text')
    return { uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' };
  const id = /^test:\/\/template\/([^/]+)\/data$/u.exec(uri)?.[1];
  if (id === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri });
  return { uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
}

function fixtureServer(bus: InMemoryServerEventBus): Server {
  const tools = fixtureTools(bus);
  const server = new Server(
    { name: 'fixtures', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true },
        completions: {},
        logging: {},
      },
    },
  );
  server.setRequestHandler('tools/list', async () => ({
    tools: Object.entries(tools).map(([name, { description, properties = {}, required = [] }]) => ({
      name,
      description,
      inputSchema: { type: 'object' as const, properties, required: [...required] } as never,
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools[params.name];
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool.');
    return (await tool.handle(context, params.arguments ?? {})) as never;
  });
  server.setRequestHandler('prompts/list', async () => ({
    prompts: Object.entries(prompts).map(([name, names]) => ({
      name,
      description: `The prompt ${name}.`,
      arguments: names.map((argument) => ({ name: argument, description: 'A text.', required: true })),
    })),
  }));
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    if (params.name === 'test_input_required_result_prompt') return (await askingPrompt(context, {})) as never;
    return { messages: messagesOf(params.name, params.arguments ?? {}) } as never;
  });
  server.setRequestHandler('resources/list', async () => ({ resources }));
  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'A text with an id.' }],
  }));
  server.setRequestHandler('resources/read', async ({ params }) => ({ contents: [contentOf(params.uri)] }) as never);
  server.setRequestHandler('resources/subscribe', async () => ({}));
  server.setRequestHandler('resources/unsubscribe', async () => ({}));
  server.setRequestHandler('completion/complete', async () => ({ completion: { values: ['paris', 'park'], hasMore: false } }));
  return server;
}

/** The fixtures behind web-standard requests: with sessions for the older revisions, whose servers ask their clients. */
export function fixtureDoor(owner: Owner): (message: Request) => Promise<Response> {
  const bus = new InMemoryServerEventBus();
  const modern = createMcpHandler(() => fixtureServer(bus), { bus, legacy: 'reject' });
  owner.after(() => modern.close());
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const opened = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await fixtureServer(bus).connect(transport);
    return transport;
  };
  return async (message) => {
    if (!(await isLegacyRequest(message))) return await modern.fetch(message);
    const session = sessions.get(message.headers.get('mcp-session-id') ?? '') ?? (await opened());
    return await session.handleRequest(message);
  };
}
