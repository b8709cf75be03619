import type { CallArguments } from './arguments.ts';
import { authenticated, authenticationIn, endpointIn, replyIn } from './http-arguments.ts';
import { findOperation } from './openapi-operation.ts';
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
  const document = await documents.find({ ...calling, endpoint }, signal);
  if ('result' in document || 'lost' in document) return document;
  const operation = findOperation(document.value, operationId, document.address);
  const { uri, headers, body } = openapiRequest(operation, given);
  given.check();
  return preparedRestCall({ ...authenticated(authentication, headers), uri, verb: operation.verb, body, ...reply });
}
