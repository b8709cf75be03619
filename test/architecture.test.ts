// suite: long

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, glob, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { maxFilesOfFolder, mayImport } from '../architecture.mjs';

const run = promisify(execFile);
const root = new URL('..', import.meta.url).pathname;

interface Cruise {
  readonly summary: { readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[] };
  readonly modules: readonly { readonly source: string; readonly dependencies: readonly { readonly resolved: string }[] }[];
}

async function cruise(directory: string): Promise<Cruise> {
  const command = join(root, 'node_modules/.bin/depcruise');
  const options = { cwd: directory, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run(
    command,
    ['src', 'demo', 'client/src', 'console/src', '--config', '.dependency-cruiser.mjs', '--output-type', 'json'],
    options,
  ).catch((failed: { readonly stdout: string }) => failed);
  return JSON.parse(stdout) as Cruise;
}

/** Takes seconds: the tests of this tree share it. */
const ownCruise = cruise(root);

test('the import table holds for every source file', async () => {
  const { summary, modules } = await ownCruise;
  assert.deepEqual(
    summary.violations.map(({ rule }) => rule.name),
    [],
  );
  const seen = new Set(modules.map(({ source }) => source));
  for await (const file of glob(['src/**/*.ts', 'demo/**/*.ts', 'client/src/**/*.ts', 'console/src/**/*.tsx'], { cwd: root }))
    assert.ok(seen.has(file), `${file} was not cruised`);
  const used = new Set(
    modules
      .filter(({ source }) => !source.endsWith('.test.ts'))
      .flatMap(({ source, dependencies }) =>
        dependencies.map(({ resolved }) => `${folderOf(source)} imports ${folderOf(resolved)}`),
      ),
  );
  const allowed = Object.entries(mayImport).flatMap(([folder, others]) => others.map((other) => `${folder} imports ${other}`));
  assert.deepEqual(
    allowed.filter((one) => !used.has(one)),
    [],
    'the table allows imports that no file has',
  );
});

test('an exported name belongs to one module of src', async () => {
  const exporters = new Map<string, string[]>();
  for await (const file of glob('src/**/*.ts', { cwd: root })) {
    const text = await readFile(join(root, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^export (?:async )?(?:class|const|function\*?|interface|type) (\w+)/gmu))
      exporters.set(name, [...(exporters.get(name) ?? []), file]);
  }
  assert.ok(exporters.size > 500, 'too few exports were found');
  assert.deepEqual(
    [...exporters].filter(([, files]) => files.length > 1),
    [],
  );
});

test('a folder of src has at most as many files as the eye can take in', async () => {
  const entries = await readdir(join(root, 'src'), { recursive: true, withFileTypes: true });
  const counts = new Map<string, number>();
  for (const { parentPath } of entries.filter((entry) => entry.isFile() && entry.name !== 'README.md'))
    counts.set(parentPath, (counts.get(parentPath) ?? 0) + 1);
  assert.ok(counts.size > 40, 'too few folders were found');
  // Migrations grow by one file a change of the store.
  const crowded = [...counts].filter(([folder, count]) => count > maxFilesOfFolder && !folder.endsWith('/migrations'));
  assert.deepEqual(crowded, []);
});

function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}

const breaches = [
  {
    file: 'src/base/breach.ts',
    text: "export { decide } from '#access/rights/decide.ts';\n",
    rule: 'base-imports-only-its-table-row',
  },
  {
    file: 'src/relay/breach.ts',
    text: "export { decide } from '../access/rights/decide.ts';\n",
    rule: 'crossing-a-folder-shows-a-hash',
  },
  { file: 'src/relay/breach.ts', text: "export { connect } from 'node:net';\n", rule: 'only-outbound-dials-out' },
  { file: 'src/access/breach.ts', text: "export { Agent } from 'undici';\n", rule: 'only-outbound-dials-out' },
  { file: 'src/http/routes/breach.ts', text: "export { request } from 'node:http';\n", rule: 'only-outbound-dials-out' },
  { file: 'src/http/breach.ts', text: "export { restCall } from '#relay/rest-call.ts';\n", rule: 'only-the-call-path-sends' },
  {
    file: 'src/http/breach.ts',
    text: "export type { AdapterInstance } from '#adapters/adapter-instance.ts';\n",
    rule: 'only-the-call-path-sends',
  },
  { file: 'src/relay/breach.ts', text: "export { default } from 'find-my-way';\n", rule: 'only-http-knows-routing' },
  {
    file: 'src/http/breach.ts',
    text: "export { trace } from '@opentelemetry/api';\n",
    rule: 'only-telemetry-knows-opentelemetry',
  },
  { file: 'src/http/breach.ts', text: "export { discoveryRequest } from 'oauth4webapi';\n", rule: 'only-access-knows-tokens' },
  { file: 'src/access/breach.ts', text: "export { DatabaseSync } from 'node:sqlite';\n", rule: 'only-database-opens-databases' },
  {
    file: 'src/adapters/kinds/nso/breach.ts',
    text: "export { restAdapter } from '../rest/rest-adapter.ts';\n",
    rule: 'kinds-do-not-know-each-other',
  },
  {
    file: 'src/http/breach.ts',
    text: "export { createGateway } from '#client/gateway.ts';\n",
    rule: 'only-the-command-line-uses-the-client',
  },
  { file: 'client/src/breach.ts', text: "export { join } from 'node:path';\n", rule: 'the-client-imports-nothing-else' },
  {
    file: 'console/src/breach.ts',
    text: "export { durationText } from '../../src/cli/texts/run-words.ts';\n",
    rule: 'the-console-knows-the-client-alone',
  },
  {
    file: 'src/newcomer/breach.ts',
    text: "export { decide } from '#access/rights/decide.ts';\n",
    rule: 'a-folder-without-a-row',
  },
];

test('a planted breach of each rule of the import table is found', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'architecture-'));
  t.after(() => rm(directory, { recursive: true }));
  for (const name of [
    'src',
    'demo',
    'client/src',
    'architecture.mjs',
    '.dependency-cruiser.mjs',
    'package.json',
    'tsconfig.json',
  ]) {
    await cp(join(root, name), join(directory, name), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  for (const [index, { file, text }] of breaches.entries()) {
    const planted = join(directory, file.replace('breach', `breach-${index}`));
    await mkdir(join(planted, '..'), { recursive: true });
    await writeFile(planted, text);
    // A module imports it, so that the rule about orphans does not apply.
    await writeFile(
      join(directory, 'src', `root-${index}.ts`),
      `export * from '${file
        .replace('breach', `breach-${index}`)
        .replace(/^src\//u, '#')
        .replace(/^client\/src\//u, '#client/')
        .replace(/^console\//u, '../console/')}';\n`,
    );
  }
  const found = new Set((await cruise(directory)).summary.violations.map(({ from, rule }) => `${from}: ${rule.name}`));
  for (const [index, { file, rule }] of breaches.entries()) {
    const planted = file.replace('breach', `breach-${index}`);
    // A folder without a row is found where something imports it.
    const isFound = [planted, `src/root-${index}.ts`].some((from) => found.has(`${from}: ${rule}`));
    assert.ok(isFound, `${rule} did not find ${planted} among ${[...found].join(', ')}`);
  }
});

/** Files that begin calls. Each is an entrance: it turns its own request into a call, and the call path does the rest. */
const entrances = [
  'src/http/routes/calls/relay-routes.ts',
  'src/mcp/call-entrance.ts',
  'src/previews/preview.ts',
  'src/runs/tasks/call-entrance.ts',
  'src/wiring/gateway.ts',
  'src/wiring/open-agents.ts',
  'src/wiring/open-calls.ts',
  'src/wiring/open-runs.ts',
];

test('the entrances to the call path are the ones listed here', async () => {
  const { modules } = await ownCruise;
  const importers = modules
    .filter(({ source }) => /^src\/(?!calls\/)/u.test(source) && !source.endsWith('.test.ts'))
    .filter(({ dependencies }) => dependencies.some(({ resolved }) => resolved === 'src/calls/call-path.ts'))
    .map(({ source }) => source);
  assert.deepEqual(importers.toSorted(), entrances, 'see CONTRIBUTING.md, "Add an entrance"');
});

/**
 * Files that ask the decision about a call: the path itself, and the early question of HTTP and of a run. Others explain a decision, or judge
 * a document.
 */
const deciders = [
  'src/calls/call-path.ts',
  'src/calls/decide-entry.ts',
  'src/calls/explain/explain-call.ts',
  'src/calls/judge-written-call.ts',
  'src/wiring/people-of-runs.ts',
];

test('every entrance hands its calls to the call path, which alone makes one that can be sent, after the decision', async () => {
  const { modules } = await ownCruise;
  const importersOf = (file: string): readonly string[] =>
    modules
      .filter(({ source }) => source.startsWith('src/') && !source.endsWith('.test.ts'))
      .filter(({ dependencies }) => dependencies.some(({ resolved }) => resolved === file))
      .map(({ source }) => source)
      .toSorted();
  assert.deepEqual(importersOf('src/calls/decide-call.ts'), deciders);
  assert.deepEqual(importersOf('src/relay/orchestrator-call.ts'), ['src/calls/call-path.ts']);
  // The wiring takes only a type.
  assert.deepEqual(importersOf('src/relay/rest-call.ts'), ['src/calls/call-path.ts', 'src/wiring/live-parts.ts']);
  const path = await readFile(join(root, 'src/calls/call-path.ts'), 'utf8');
  assert.deepEqual(path.match(/.*\bprepareCall\(/gu), [
    '      const decision = decideCall(asked, () => prepareCall(',
    'function prepareCall(',
  ]);
  for (const entrance of entrances.filter((file) => !file.startsWith('src/wiring/')))
    assert.match(await readFile(join(root, entrance), 'utf8'), /\bcalls\.perform\(/u, entrance);
});

test('lint refuses the names of the HTTP client of Node in src/http', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'lint-'));
  t.after(() => rm(directory, { recursive: true }));
  for (const name of ['.oxlintrc.json', 'package.json', 'tsconfig.json']) await cp(join(root, name), join(directory, name));
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  await mkdir(join(directory, 'src/http'), { recursive: true });
  await writeFile(join(directory, 'src/http/breach.ts'), "import { request } from 'node:http';\nrequest('http://127.0.0.1');\n");
  const lint = run(join(root, 'node_modules/.bin/oxlint'), ['src'], { cwd: directory });
  await assert.rejects(lint, ({ stdout }: { readonly stdout: string }) => /Only outbound\/ dials out/u.test(stdout));
});
