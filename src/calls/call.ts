import type { Checked } from '#relay/checked.ts';
import type { OrchestratorParams, PassedOnHeaders, RequestParams } from '#relay/orchestrator-request.ts';
import type { CheckedRestCall } from '#relay/rest-call-request.ts';

/** What a principal asks the gateway to send. Its entrance has held the arguments against their schema, and had them checked. */
export type Call =
  | { readonly operation: 'restCall'; readonly request: CheckedRestCall & { readonly body?: Buffer | undefined } }
  | (OfAdapter & {
      readonly operation: 'restAction';
      readonly params: Checked<OrchestratorParams>;
      readonly passedOn: PassedOnHeaders;
      readonly body: Buffer;
    })
  | (OfAdapter & { readonly operation: 'restQuery'; readonly params: Checked<OrchestratorParams> })
  | (OfAdapter & {
      readonly operation: 'restRequest';
      readonly params: Checked<RequestParams>;
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
