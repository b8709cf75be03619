import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import { json, type Route, type RouteReply, type RouteRequest } from '../route.ts';

/** Answers MCP messages; `src/mcp/` makes it. */
interface AgentDoor {
  answer(
    message: Request,
    bytes: Buffer,
    agent: {
      readonly principal: Principal;
      tokenId(): Promise<string | undefined>;
      readonly requestId: string;
      readonly trace: TraceContext;
      readonly span: Span | undefined;
      readonly sourceAddress: string;
      readonly userAgent: string | undefined;
      readonly signal: AbortSignal;
      whenStopping(callback: () => void): () => void;
    },
  ): Promise<Response>;
}

interface AgentRoutesOptions {
  readonly door: AgentDoor;
  readonly tokenId: (presented: {
    readonly authorization?: string | undefined;
    readonly cookie?: string | undefined;
  }) => Promise<string | undefined>;
  /** In front of every path: an absolute URL, or empty. */
  readonly base: string;
  /** The issuers whose tokens the gateway takes. Empty: there is no metadata. */
  readonly issuers: () => readonly string[];
}

/** Bytes. A message is what a model wrote. */
const maxMessage = 1_048_576;

const metadataPath = '/.well-known/oauth-protected-resource';

/** Messages of the Model Context Protocol, and where its clients learn who issues tokens (RFC 9728). They are no operations of the API. */
export function agentRoutes({ door, tokenId, base, issuers }: AgentRoutesOptions): readonly Route[] {
  const baseOf = (origin: string | undefined): string | undefined => (base === '' ? origin : base);
  const metadata = (url: string): Route => ({
    method: 'GET',
    url,
    open: true,
    ...metadataTraits,
    handle({ ownOrigin }) {
      const found = baseOf(ownOrigin());
      if (found === undefined || issuers().length === 0) throw new GatewayError('not-found', 'There is no OAuth metadata here.');
      return json(200, resourceMetadata(found, issuers()), {
        'Cache-Control': 'max-age=300',
        'Access-Control-Allow-Origin': '*',
      });
    },
  });
  return [
    {
      method: 'POST',
      url: '/mcp',
      sheddable: true,
      holdsPlace: true,
      counted: 'never',
      recorded: false,
      body: { kind: 'document', mediaTypes: ['application/json'], limit: maxMessage, schema: {} },
      challenge(origin) {
        const found = baseOf(origin);
        return found === undefined || issuers().length === 0 ? '' : `resource_metadata="${found}${metadataPath}/mcp"`;
      },
      handle: async (request) => await replyOf(await answerOf(request, { door, tokenId, base })),
    },
    metadata(metadataPath),
    metadata(`${metadataPath}/mcp`),
  ];
}

const metadataTraits = { sheddable: false, holdsPlace: false, counted: 'never', recorded: false } as const;

function resourceMetadata(base: string, issuers: readonly string[]) {
  return {
    resource: `${base}/mcp`,
    authorization_servers: issuers,
    bearer_methods_supported: ['header'],
    resource_name: 'Orchestration Gateway',
  };
}

/** Headers of a message that its answer depends on. */
const passedOn = /^(?:accept|content-type|mcp-[a-z-]+)$/u;

async function answerOf(
  request: RouteRequest,
  { door, tokenId, base }: Pick<AgentRoutesOptions, 'base' | 'door' | 'tokenId'>,
): Promise<Response> {
  const { headers: given, body, context, record, sourceAddress, ownOrigin } = request;
  const bytes = body as Buffer;
  const left = new AbortController();
  context.whenEnded((complete) => {
    if (!complete) left.abort();
  });
  const headers = Object.entries(given).flatMap(([name, value]) =>
    passedOn.test(name) && typeof value === 'string' ? [[name, value] as [string, string]] : [],
  );
  const url = `${base === '' ? (ownOrigin() ?? 'http://gateway.invalid') : base}/mcp`;
  const message = new Request(url, { method: 'POST', headers, body: new Uint8Array(bytes), signal: left.signal });
  const { principal, requestId, trace, span } = record;
  return await door.answer(message, bytes, {
    principal,
    tokenId: () => tokenId(given),
    requestId,
    trace,
    span,
    sourceAddress,
    userAgent: given['user-agent'],
    signal: left.signal,
    whenStopping: (callback) => context.whenStopping(callback),
  });
}

/** A stream ends with the answer to its message, also while the gateway stops. */
async function replyOf(response: Response): Promise<RouteReply> {
  const { status, body, headers } = response;
  const kept = Object.fromEntries([...headers].filter(([name]) => name.startsWith('mcp-') || name === 'allow'));
  const mediaType = headers.get('content-type') ?? undefined;
  if (body !== null && mediaType?.startsWith('text/event-stream') === true)
    return { kind: 'streamed', mediaType: 'text/event-stream', headers: kept, pieces: piecesOf(body) };
  const text = await response.text();
  return { kind: 'plain', status, headers: kept, ...(text !== '' && { body: text, ...(mediaType && { mediaType }) }) };
}

async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) yield Buffer.from(next.value);
  } finally {
    await reader.cancel().catch(() => {});
  }
}
