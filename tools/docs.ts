/**
 * Makes what the documents say twice from the code that defines it: the parts of pages between `<!-- made: NAME -->` and `<!-- /made -->`,
 * and gateway.example.yaml.
 *
 *   npm run docs          writes them
 *   npm run check:docs    exits with 1 where one is stale
 */
import { glob, readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { configTemplate } from '../src/config/config-template.ts';
import type { OpenApiDocument } from '../src/http/documentation/openapi-document.ts';
import { startGateway } from '../test/support/gateway/start-gateway.ts';
import { apiParts } from './docs/api-parts.ts';
import { withParts } from './docs/made-parts.ts';
import { sourceParts, watchMetrics } from './docs/source-parts.ts';

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const parts = new Map(await allParts());
const unplaced = new Set(parts.keys());

for await (const file of glob(['*.md', 'docs/**/*.md']))
  await make(file, (page) => withParts(page, parts, (name) => void unplaced.delete(name)));
await make('gateway.example.yaml', (text) => {
  const [, adminPasswordHash = ''] = /passwordHash: '(\$argon2id[^']+)'/u.exec(text) ?? [];
  return configTemplate({ adminPasswordHash });
});
for (const name of unplaced)
  complain(`no page has a part "${name}": write the line <!-- made: ${name} --> and the line <!-- /made -->`);

async function allParts() {
  await using closing = new AsyncDisposableStack();
  const metricParts = watchMetrics();
  const gateway = await startGateway({ after: (close) => closing.defer(async () => close()) });
  const document = (await gateway.send({ target: '/openapi.json' })).json() as OpenApiDocument;
  return [...apiParts(document), ...metricParts(), ...(await sourceParts())];
}

async function make(file: string, made: (text: string) => string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const wanted = made(text);
  if (wanted === text) return;
  if (values.check) complain(`${file} is stale: npm run docs`);
  else await writeFile(file, wanted);
}

function complain(problem: string): void {
  console.error(problem);
  process.exitCode = 1;
}
