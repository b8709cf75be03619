import type { Operation } from '#access/rights/operations.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { JsonSchema, MemberSchemas } from '#base/json-schema.ts';
import { Type } from '#base/json-schema.ts';
import { decideEntry, usableOperations } from '#calls/decide-entry.ts';
import type { AgentNeeds } from './agent-needs.ts';
import type { ToolRequest } from './agent-request.ts';
import { type Entering, onRecord } from './call-entrance.ts';
import { argumentJudge, type JudgeArguments, type ToolArguments } from './tool-arguments.ts';
import type { ToolResult } from './tool-result.ts';

/** As `tools/list` shows it. */
interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: Readonly<Record<'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint', boolean>>;
}

/** `changes`: absent from a gateway with `mcp.readOnly`. `reads`: there it has reads alone. */
type Effect = 'reads' | 'changes' | 'both';

export interface AgentTool {
  readonly name: string;
  readonly effect: Effect;
  /** It is listed for those who may use one of them. */
  readonly operations: readonly Operation[];
  define(isReadOnly: boolean): ToolDefinition;
  readonly judge: JudgeArguments;
  call(given: ToolArguments, request: ToolRequest): Promise<ToolResult>;
}

interface Declared extends Pick<AgentTool, 'name' | 'effect' | 'operations' | 'call'> {
  readonly description: string;
  /** What the tool takes with `mcp.readOnly`. Absent: the same. */
  readonly readOnlyDescription?: string;
  readonly takes: MemberSchemas;
  readonly answers?: JsonSchema;
  /** It reaches systems outside of the gateway. */
  readonly leaves: boolean;
}

export function agentTool({
  name,
  effect,
  operations,
  call,
  description,
  readOnlyDescription,
  takes,
  answers,
  leaves,
}: Declared): AgentTool {
  const inputSchema = Type.Object(takes, { additionalProperties: false });
  return {
    name,
    effect,
    operations,
    call,
    judge: argumentJudge(inputSchema),
    define(isReadOnly) {
      const reads = effect === 'reads' || isReadOnly;
      return {
        name,
        description: isReadOnly ? (readOnlyDescription ?? description) : description,
        inputSchema,
        ...(answers && { outputSchema: answers }),
        annotations: { readOnlyHint: reads, destructiveHint: !reads, idempotentHint: reads, openWorldHint: leaves },
      };
    },
  };
}

/** The tools that the principal may use, in their order. */
export function listedTools(
  tools: readonly AgentTool[],
  { principal }: Pick<ToolRequest, 'principal'>,
  needs: AgentNeeds,
): readonly AgentTool[] {
  const usable = new Set(usableOperations({ principal, customRoles: needs.customRoles(), entrance: 'mcp' }));
  const isReadOnly = needs.isReadOnly();
  return tools.filter(
    ({ effect, operations }) => !(isReadOnly && effect === 'changes') && operations.some((one) => usable.has(one)),
  );
}

/** Throws `forbidden`, as the route of the operation does. */
export function permit(
  operation: Operation,
  { principal }: Pick<ToolRequest, 'principal'>,
  { customRoles }: Pick<AgentNeeds, 'customRoles'>,
): void {
  const decision = decideEntry({ principal, operation, entrance: 'mcp', customRoles: customRoles() });
  if (!decision.allowed) throw new GatewayError('forbidden', decision.reason);
}

/** As `permit`, before there is a call: a refusal goes on record. `isReadOnly`: it is refused because agents may only read. */
export async function permitOnRecord(
  operation: Operation,
  entering: Entering,
  needs: AgentNeeds,
  isReadOnly = false,
): Promise<void> {
  await onRecord(operation, entering, { ...needs, isRecorded: false }, async () => {
    permit(operation, entering, needs);
    if (isReadOnly) throw readOnlyRefusal('The call');
  });
}

export function readOnlyRefusal(what: string): GatewayError {
  return new GatewayError(
    'forbidden',
    `${what} may change something, and the operator lets agents only read here (mcp.readOnly). Say which change you would make instead.`,
  );
}
