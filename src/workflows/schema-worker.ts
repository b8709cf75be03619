/** The thread that holds values against schemas. Started by `schema-threads.ts`. */
import { createSchemaJudge } from './schema-judge.ts';
import { answerRequests } from './thread-pool.ts';

answerRequests(createSchemaJudge());
