import type { AutomationState } from '#automations/automation-catalogue.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { RouteReply, RouteRequest } from '#http/route.ts';

/** Why the schedule of the automation with this `_id` can begin no run. */
export type WarningsOf = (id: string) => Promise<readonly RequestProblem[]>;

export function document(
  status: number,
  { text, tag }: AutomationState,
  headers: Readonly<Record<string, string>> = {},
): RouteReply {
  return { kind: 'plain', status, headers: { ETag: tag, ...headers }, body: text };
}

/** For the audit log. A refused change has the `_id` in its path alone. */
export function noteChange({ record }: RouteRequest['context'], { id, name }: Pick<AutomationState, 'id' | 'name'>): void {
  record.note({ automation: { _id: id, name } });
}

/** Notes the change for the audit log, and makes the reply with the warnings about what was stored. */
export type StoredReply = (
  context: RouteRequest['context'],
  state: AutomationState,
  reply?: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
) => Promise<RouteReply>;

export function storedReply(warningsOf: WarningsOf): StoredReply {
  return async (context, state, { status, headers } = { status: 200, headers: {} }) => {
    noteChange(context, state);
    const warnings = await warningsOf(state.id).catch((error: unknown) => {
      // The change is made: a store that is away by now must not make it look refused.
      if (error instanceof GatewayError) return [];
      throw error;
    });
    const text = warnings.length === 0 ? state.text : `${state.text.slice(0, -1)},"warnings":${JSON.stringify(warnings)}}`;
    return document(status, { ...state, text }, headers);
  };
}
