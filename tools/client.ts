/** Makes client/src/generated/ again, from the OpenAPI document of this checkout's gateway: npm run client. */
import { rm } from 'node:fs/promises';
import type { OpenApiDocument } from '../src/http/documentation/openapi-document.ts';
import { startGateway } from '../test/support/gateway/start-gateway.ts';
import { generateClient, generatedFolder } from './client/generator.ts';

await using closing = new AsyncDisposableStack();
const gateway = await startGateway({ after: (close) => closing.defer(async () => close()) });
const document = (await gateway.send({ target: '/openapi.json' })).json() as OpenApiDocument;
await rm(generatedFolder, { recursive: true, force: true });
await generateClient(document, generatedFolder);
