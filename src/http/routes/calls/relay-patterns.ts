import type { CallOperation } from '#relay/relayed-call.ts';

/** The URL pattern of each operation's route, for routes and metrics. */
export const relayPatterns = {
  restCall: '/tools/restCall',
  restAction: '/orchestrator_manager/restAction/:adapterId',
  restQuery: '/orchestrator_manager/restQuery/:adapterId',
  restRequest: '/orchestrator_manager/restRequest/:adapterId',
} as const satisfies Record<CallOperation, string>;
