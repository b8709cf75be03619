import type { Principal } from '#access/principal.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';

/** An authenticated HTTP request with one MCP message. */
export interface AgentRequest {
  readonly principal: Principal;
  /** The id by which its token can be revoked. Undefined: the caller sent a password. */
  tokenId(): Promise<string | undefined>;
  readonly requestId: string;
  readonly trace: TraceContext;
  readonly span: Span | undefined;
  readonly sourceAddress: string;
  readonly userAgent: string | undefined;
  /** Aborted: the caller left. */
  readonly signal: AbortSignal;
  /** See CallContext. */
  whenStopping(callback: () => void): () => void;
}

/** What a tool knows of the message in addition. */
export interface ToolRequest extends AgentRequest {
  readonly client: NonNullable<AuditFacts['client']>;
  /** The client declares the extension for tasks. */
  readonly takesTasks: boolean;
}

const maxNameLength = 200;

/** The program of the client, as it names itself. Older revisions say it once alone; then the User-Agent names it. */
export function clientOf(named: unknown, userAgent = 'unknown'): NonNullable<AuditFacts['client']> {
  const { name, version } = typeof named === 'object' && named !== null ? (named as Record<string, unknown>) : {};
  if (typeof name !== 'string') return { name: plain(userAgent) };
  return { name: plain(name), ...(typeof version === 'string' && { version: plain(version) }) };
}

function plain(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .slice(0, maxNameLength)
    .toWellFormed();
}
