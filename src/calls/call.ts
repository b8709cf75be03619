import type { DryRunFormat } from '#adapters/dry-runs.ts';
import { orchestratorTexts, restCallTexts, type SealedText } from '#relay/call-seal.ts';
import type { OrchestratorParams, PassedOnHeaders, RequestParams } from '#relay/orchestrator-request.ts';
import type { CallOperation, Checked } from '#relay/relayed-call.ts';
import type { CheckedRestCall } from '#relay/rest-call-request.ts';

/** What a principal asks the gateway to send. Its entrance has held the arguments against their schema, and had them checked. */
export type Call =
  | {
      readonly operation: 'restCall';
      readonly request: CheckedRestCall & { readonly body?: Buffer | undefined };
      /** False: a redirect is the reply. Default: it is followed. */
      readonly follows?: boolean;
    }
  | (OfAdapter & {
      readonly operation: 'restAction';
      readonly params: Checked<OrchestratorParams>;
      /** The writer of a workflow says that the call changes nothing. */
      readonly repeatable?: true | undefined;
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
  /** Whether a status of 400 and above is a reply like any other. Otherwise it is `upstream-error`. Default: for `restRequest` alone. */
  readonly passesErrors?: boolean;
  /**
   * Set for a preview: the orchestrator is asked what the call would do, in this format, and its answer is the reply. Such a call leaves
   * as a dry run alone, and only to a node that has proven that it knows dry runs.
   */
  readonly dryRun?: DryRunFormat;
}

const fixedMethods = { restAction: 'POST', restQuery: 'GET', restCall: undefined, restRequest: undefined } as const;

/** The method that every call of the operation has at the upstream; undefined where the caller names it. */
export function fixedMethod(operation: CallOperation): 'GET' | 'POST' | undefined {
  return fixedMethods[operation];
}

/** What of the call may have placeholders in place of secrets. */
export function textsOf(call: Call): readonly SealedText[] {
  return call.operation === 'restCall' ? restCallTexts(call.request) : orchestratorTexts(call);
}

/** The method of a call to an orchestrator at the upstream. */
export function methodOf(call: Exclude<Call, { readonly operation: 'restCall' }>): RequestParams['method'] {
  return call.operation === 'restRequest' ? call.params.method : fixedMethods[call.operation];
}

/** Whether the call leaves as a dry run alone. */
export function isPreview(call: Call): boolean {
  return call.operation !== 'restCall' && call.dryRun !== undefined;
}
