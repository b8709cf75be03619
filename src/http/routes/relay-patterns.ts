import type { CallOperation } from '#relay/relayed-call.ts';

/** The URL pattern of the route of each operation: routes and metrics name it alike. */
export const relayPatterns: Readonly<Record<CallOperation, string>> = {
  restCall: '/tools/restCall',
  restAction: '/orchestrator_manager/restAction/:adapterId',
  restQuery: '/orchestrator_manager/restQuery/:adapterId',
  restRequest: '/orchestrator_manager/restRequest/:adapterId',
};
