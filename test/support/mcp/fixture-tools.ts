import { createHmac, randomBytes } from 'node:crypto';
import {
  type InMemoryServerEventBus,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';

// What the conformance suite of MCP asks a server under test to have, as its scenarios describe it.

type Result = Readonly<Record<string, unknown>>;
type Handle = (context: ServerContext, given: Readonly<Record<string, unknown>>) => Result | Promise<Result>;

export interface FixtureTool {
  readonly description: string;
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly handle: Handle;
}

/** A red pixel, and a silent wave. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const wav = Buffer.from(
  '524946462400000057415645666d74201000000001000100401f0000401f0000010008006461746100000000',
  'hex',
).toString('base64');

const text = (value: string): Result => ({ content: [{ type: 'text', text: value }] });
const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 50));

const elicited = (message: string, properties: object, required: readonly string[] = Object.keys(properties)) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
});
const sampled = (prompt: string, maxTokens: number) => ({
  method: 'sampling/createMessage' as const,
  params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };

const key = randomBytes(32);
const seal = (state: string): string => `${state}.${createHmac('sha256', key).update(state).digest('base64url')}`;

/** Throws where the client changed the state. */
function opened(context: ServerContext): string | undefined {
  const sealed = context.mcpReq.requestState<string>();
  if (sealed === undefined) return undefined;
  const state = sealed.slice(0, Math.max(0, sealed.lastIndexOf('.')));
  if (seal(state) !== sealed) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState was changed.');
  return state;
}

interface Asking {
  readonly asks: Readonly<Record<string, object>>;
  readonly state?: string;
  readonly done: (answers: Readonly<Record<string, unknown>>, state: string | undefined) => Result;
}

/** Asks until every answer is there and has its form. */
function asking({ asks, state, done }: Asking): Handle {
  return (context) => {
    const given = opened(context);
    const answers = context.mcpReq.inputResponses ?? {};
    const isMissing = Object.keys(asks).some((name) => typeof answers[name] !== 'object' || answers[name] === null);
    if (isMissing)
      return { resultType: 'input_required', inputRequests: asks, ...(state !== undefined && { requestState: seal(state) }) };
    return done(answers, given);
  };
}

function multiRound(context: ServerContext): Result {
  const state = opened(context);
  const answers = context.mcpReq.inputResponses ?? {};
  const ask = (name: string, message: string, member: string): Result => ({
    resultType: 'input_required',
    inputRequests: { [name]: elicited(message, { [member]: { type: 'string' } }) },
    requestState: seal(name),
  });
  if (state === 'step1' && 'step1' in answers) return ask('step2', 'Step 2: What is your favorite color?', 'color');
  if (state === 'step2' && 'step2' in answers) return text('Both steps are done.');
  return ask('step1', 'Step 1: What is your name?', 'name');
}

function declared({ mcpReq: { envelope = {} } }: ServerContext): Readonly<Record<string, unknown>> {
  return ((envelope as Record<string, unknown>)['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Record<string, unknown>;
}

async function askClient(
  context: ServerContext,
  message: string,
  properties: object,
  required: readonly string[],
): Promise<string> {
  const params = { mode: 'form', message, requestedSchema: { type: 'object', properties, required } };
  const { action, content } = await context.mcpReq.send({ method: 'elicitation/create', params });
  return `action=${action}, content=${JSON.stringify(content ?? {})}`;
}

const titled = (name: string) =>
  ['value1', 'value2', 'value3'].map((value, index) => ({ const: value, title: `${name} ${index + 1}` }));
const options = ['option1', 'option2', 'option3'];
const enums = {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
};
const defaults = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const userName = { user_name: elicited('What is your name?', { name: { type: 'string' } }) };

function greeted(answers: Readonly<Record<string, unknown>>): Result {
  const { content = {} } = answers['user_name'] as { readonly content?: { readonly name?: string } };
  return text(`Hello, ${content.name ?? 'you'}!`);
}

const resource = (uri: string, mimeType: string, content: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: content },
});

export function fixtureTools(bus: InMemoryServerEventBus): Readonly<Record<string, FixtureTool>> {
  const tool = (description: string, handle: Handle, properties?: object): FixtureTool => ({
    description,
    handle,
    ...(properties && { properties, required: Object.keys(properties) }),
  });
  return {
    test_simple_text: tool('Answers a text.', () => text('This is a simple text response for testing.')),
    test_image_content: tool('Answers an image.', () => ({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] })),
    test_audio_content: tool('Answers a sound.', () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] })),
    test_embedded_resource: tool('Answers a resource.', () => ({
      content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    })),
    test_multiple_content_types: tool('Answers several kinds of content.', () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: png, mimeType: 'image/png' },
        resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    })),
    test_error_handling: tool('Fails.', () => ({
      ...text('This tool intentionally returns an error for testing'),
      isError: true,
    })),
    test_tool_with_logging: tool('Logs.', async ({ mcpReq }) => {
      for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.log('info', message);
        await pause();
      }
      return text('The tool has logged.');
    }),
    test_logging_tool: tool('Logs where the request asks for it.', async ({ mcpReq }) => {
      await mcpReq.log('info', 'a line');
      return text('The tool has logged.');
    }),
    test_tool_with_progress: tool('Reports progress.', async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
        await pause();
      }
      return text('The tool is done.');
    }),
    test_sampling: tool(
      'Asks the model of the client.',
      async ({ mcpReq }, { prompt }) => {
        const { content } = await mcpReq.send(sampled(String(prompt), 100));
        return text(`LLM response: ${JSON.stringify(content)}`);
      },
      { prompt: { type: 'string' } },
    ),
    test_elicitation: tool(
      'Asks the person at the client.',
      async (context, { message }) => {
        const properties = {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        };
        return text(`User response: ${await askClient(context, String(message), properties, ['username', 'email'])}`);
      },
      { message: { type: 'string' } },
    ),
    test_elicitation_sep1034_defaults: tool('Asks with defaults.', async (context) =>
      text(`Elicitation completed: ${await askClient(context, 'Please check', defaults, [])}`),
    ),
    test_elicitation_sep1330_enums: tool('Asks with lists.', async (context) =>
      text(`Elicitation completed: ${await askClient(context, 'Please choose', enums, [])}`),
    ),
    test_streaming_elicitation: tool('Asks in its result.', asking({ asks: userName, done: greeted })),
    test_missing_capability: tool('Needs a model at the client.', (context) => {
      if (!('sampling' in declared(context)))
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      return text('The client has a model.');
    }),
    test_trigger_tool_change: tool('Tells that the tools changed.', () => {
      bus.publish({ kind: 'tools_list_changed' });
      return text('The server has said so.');
    }),
    test_trigger_prompt_change: tool('Tells that the prompts changed.', () => {
      bus.publish({ kind: 'prompts_list_changed' });
      return text('The server has said so.');
    }),
    test_input_required_result_elicitation: tool('Asks for a name.', asking({ asks: userName, done: greeted })),
    test_input_required_result_sampling: tool(
      'Asks for a capital.',
      asking({
        asks: { capital_question: sampled('What is the capital of France?', 100) },
        done: (answers) => text(JSON.stringify(answers['capital_question'])),
      }),
    ),
    test_input_required_result_list_roots: tool(
      'Asks for roots.',
      asking({ asks: { client_roots: roots }, done: (answers) => text(JSON.stringify(answers['client_roots'])) }),
    ),
    test_input_required_result_request_state: tool(
      'Asks with a state.',
      asking({
        asks: { confirm: elicited('Please confirm', { ok: { type: 'boolean' } }) },
        state: 'confirming',
        done: (_answers, state) => text(state === 'confirming' ? 'state-ok' : 'There is no state.'),
      }),
    ),
    test_input_required_result_tampered_state: tool(
      'Asks with a state that has a seal.',
      asking({
        asks: { confirm: elicited('Please confirm', { ok: { type: 'boolean' } }) },
        state: 'sealed',
        done: () => text('state-ok'),
      }),
    ),
    test_input_required_result_multiple_inputs: tool(
      'Asks for several things.',
      asking({
        asks: { ...userName, greeting: sampled('Generate a greeting', 50), client_roots: roots },
        state: 'several',
        done: () => text('All of it is here.'),
      }),
    ),
    test_input_required_result_multi_round: tool('Asks twice.', multiRound),
    test_input_required_result_capabilities: tool('Asks for what the client declares.', (context) => {
      const may = declared(context);
      const asks = {
        ...('elicitation' in may && userName),
        ...('sampling' in may && { greeting: sampled('Generate a greeting', 50) }),
        ...('roots' in may && { client_roots: roots }),
      };
      return asking({ asks, done: () => text('There is nothing to ask.') })(context, {});
    }),
  };
}

/** The prompt that asks before it answers. */
export const askingPrompt: Handle = asking({
  asks: { user_context: elicited('What context should the prompt use?', { context: { type: 'string' } }) },
  done: (answers) => ({ messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(answers['user_context']) } }] }),
});
