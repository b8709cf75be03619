/** The thread that holds values against schemas. Started by `schema-threads.ts`, which ends it where it takes too long. */
import { parentPort } from 'node:worker_threads';
import { createSchemaJudge } from './schema-judge.ts';
import type { SchemaRequest } from './schema-messages.ts';

const port = parentPort;
if (port === null) throw new Error('schema-worker.ts runs as a worker thread only');

const judge = createSchemaJudge();
port.on('message', (request: SchemaRequest) => port.postMessage(judge(request)));
port.postMessage({ ready: true });
