import type { CallArguments } from './arguments.ts';
import { authenticated, authenticationIn, endpointIn, replyIn } from './http-arguments.ts';
import { openapiRequest } from './openapi-request.ts';
import type { PreparedCall } from './prepared-call.ts';
import { preparedRestCall } from './rest-arguments.ts';
import type { DocumentRequest, Failed, TaskDocuments } from './task-documents.ts';

/**
 * `call: openapi`: fetches the document where the run does not have it yet. Throws `invalid-request` with every problem of the arguments, or
 * the first one of the document.
 */
export async function openapiArguments(
  given: CallArguments,
  documents: TaskDocuments,
  calling: Omit<DocumentRequest, 'endpoint'>,
  signal: AbortSignal,
): Promise<PreparedCall | Failed> {
  const endpoint = endpointIn(given.object('document'), 'endpoint');
  const operationId = given.requiredText('operationId');
  const authentication = authenticationIn(given);
  const reply = replyIn(given);
  given.check();
  const operation = await documents.findOperation({ ...calling, endpoint }, operationId, signal);
  if ('result' in operation || 'lost' in operation) return operation;
  const { uri, headers, body } = openapiRequest(operation, given);
  given.check();
  return preparedRestCall({ ...authenticated(authentication, headers), uri, verb: operation.verb, body, ...reply });
}
