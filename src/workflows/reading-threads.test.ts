// suite: long

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createReadingThreads } from './reading-threads.ts';

const text = 'document: { dsl: 1.0.3, namespace: lab, name: sync, version: 1.0.0 }\ndo:\n  - a: { set: { b: "${ .c }" } }\n';
const document = { text, mediaType: 'application/yaml', adapters: [], principal: 'p' } as const;

describe('the threads that read workflows', () => {
  test('read several documents of one principal', async () => {
    const threads = createReadingThreads();
    after(() => threads.close());
    const readings = await Promise.all(['p', 'p', 'q', 'q'].map((principal) => threads.read({ ...document, principal })));
    for (const reading of readings) assert.ok('facts' in reading, JSON.stringify(reading));
  });

  test('give up a document that takes too long', async () => {
    const threads = createReadingThreads({ timeLimit: 1 });
    after(() => threads.close());
    assert.deepEqual(await threads.read(document), {
      problems: [
        {
          pointer: '',
          detail: 'the document cannot be read within 0.001 s; split it into several workflows',
          line: 1,
          column: 1,
        },
      ],
      warnings: [],
    });
  });

  test('give up a document that takes too much memory', async () => {
    const threads = createReadingThreads({ memoryLimit: 16 });
    after(() => threads.close());
    const tasks = Array.from({ length: 10_000 }, (_, at) => `  - t${at}: { set: { a: 1 } }\n`).join('');
    const reading = await threads.read({ ...document, text: text + tasks });
    assert.match(JSON.stringify(reading), /within 16 MiB of memory/u);
  });

  test('end with their gateway', async () => {
    const threads = createReadingThreads();
    const reading = threads.read(document);
    await threads.close();
    await assert.rejects(reading, /closed/u);
  });
});
