import type { OrchestratorParams, PassedOnHeaders, RequestParams } from '#relay/orchestrator-request.ts';
import type { RestCallRequest } from '#relay/rest-call-request.ts';

/** What a principal asks the gateway to send. Its entrance has held it against its schema. */
export type Call =
  | { readonly operation: 'restCall'; readonly request: RestCallRequest }
  | (OfAdapter & {
      readonly operation: 'restAction';
      readonly params: OrchestratorParams;
      readonly passedOn: PassedOnHeaders;
      readonly body: Buffer;
    })
  | (OfAdapter & { readonly operation: 'restQuery'; readonly params: OrchestratorParams })
  | (OfAdapter & {
      readonly operation: 'restRequest';
      readonly params: RequestParams;
      readonly passedOn: PassedOnHeaders;
      readonly body?: Buffer | undefined;
    });

/** `adapter` is the name of the adapter instance. */
interface OfAdapter {
  readonly adapter: string;
}

const methods = { restAction: 'POST', restQuery: 'GET' } as const;

/** The method of a call to an orchestrator at the far side. */
export function methodOf(call: Exclude<Call, { readonly operation: 'restCall' }>): RequestParams['method'] {
  return call.operation === 'restRequest' ? call.params.method : methods[call.operation];
}
