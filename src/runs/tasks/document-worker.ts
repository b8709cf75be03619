import { GatewayError } from '#base/gateway-error.ts';
import { answerRequests } from '#workflows/thread-pool.ts';
import { findOperation } from './described-operation.ts';
import type { DocumentAnswer, DocumentQuestion } from './document-threads.ts';
import { jsonOfDocument } from './json-document.ts';

answerRequests((question: DocumentQuestion): DocumentAnswer => {
  if (question.purpose === 'read') return jsonOfDocument(Buffer.from(question.bytes));
  const { json, operationId, address } = question;
  try {
    return { operation: findOperation(JSON.parse(json), operationId, address) };
  } catch (error) {
    if (error instanceof GatewayError) return { problem: error.message };
    throw error;
  }
});
