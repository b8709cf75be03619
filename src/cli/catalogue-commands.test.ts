import assert from 'node:assert/strict';
import { Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { type CliRun, runCommandLine } from '../../test/support/gateway/run-command-line.ts';
import type { StoredCatalogue } from './command.ts';

const files = { 'gateway.yaml': 'access: { tokenLifetime: 2h }\n', 'a.ndjson': '{"name":"a"}\n{"name":"b"}\n' };

/** A catalogue that accepts everything and stores it in `taken`. */
function openCatalogue(): StoredCatalogue & { readonly taken: string[] } {
  const taken: string[] = [];
  return {
    taken,
    async import(source, { onProgress }) {
      let bytes = 0;
      for await (const chunk of source) {
        bytes += chunk.length;
        taken.push(chunk.toString());
      }
      onProgress({ step: 'reading', lines: 1_234, bytes });
      return { imported: 1_234, replaced: 1 };
    },
    async *export() {
      yield ['{"_id":"a"}', '{"_id":"b"}'];
      yield ['{"_id":"c"}'];
    },
  };
}

function refusing(error: Error): StoredCatalogue {
  return {
    async import() {
      throw error;
    },
    async *export() {
      yield ['{"_id":"a"}'];
      throw error;
    },
  };
}

/** Moves the cursor to the first column and erases the line. */
const erased = '\r\u001b[2K';

function outcome({ code, out, err }: CliRun): readonly [number, string, string] {
  return [code, out, err];
}

const taking =
  'orchestration-gateway import: what is new or changed has no author, and is not due until a person takes it: automations take NAME, at a running gateway\n';

test('import passes on the content of the file or standard input, and prints the result', async (t) => {
  const [fromFile, fromInput] = [openCatalogue(), openCatalogue()];
  const said = 'imported 1,234 automations, 1 of them replaced\n';
  assert.deepEqual(outcome(await runCommandLine(t, ['import', 'a.ndjson'], { files, catalogue: fromFile })), [0, said, taking]);
  assert.equal(fromFile.taken.join(''), files['a.ndjson']);
  const stdin = Readable.from([Buffer.from('{"na'), Buffer.from('me":"ä"}')]);
  assert.deepEqual(outcome(await runCommandLine(t, ['import', '-'], { files, stdin, catalogue: fromInput })), [0, said, taking]);
  assert.equal(fromInput.taken.join(''), '{"name":"ä"}');
});

test('import shows its progress on a terminal, and erases it at the end', async (t) => {
  const { err } = await runCommandLine(t, ['import', 'a.ndjson'], { files, catalogue: openCatalogue(), progressColumns: 30 });
  // The last column stays free, because a line that reaches it wraps on some terminals.
  assert.equal(err, `${erased}reading: 1,234 lines, 0.0 MiB${erased}${taking}`);
});

test('import names each bad line as compilers do, and escapes control characters of the file', async (t) => {
  const error = new GatewayError('invalid-request', '3 lines cannot be imported.', {
    errors: [
      { pointer: '/3/data/gbac', detail: 'line 3: must be an object' },
      { pointer: '/12', detail: 'line 12: is not JSON' },
      { pointer: '/13/\u001b[31m\nx', detail: 'line 13: is unknown\u202e' },
    ],
  });
  const bad = await runCommandLine(t, ['import', 'a.ndjson'], { files, catalogue: refusing(error) });
  assert.deepEqual(outcome(bad), [
    1,
    '',
    [
      'a.ndjson:3: /data/gbac: must be an object',
      'a.ndjson:12: is not JSON',
      'a.ndjson:13: /\\u001b[31m\\u000ax: is unknown\\u202e',
      'orchestration-gateway import: 3 lines cannot be imported.',
      '',
    ].join('\n'),
  ]);
  const piped = await runCommandLine(t, ['import', '-'], { files, catalogue: refusing(error) });
  assert.match(piped.err, /^<stdin>:3: \/data\/gbac: must be an object$/mu);
});

test('import and export print the error of the store unchanged', async (t) => {
  const catalogue = refusing(new GatewayError('store-unavailable', 'The disk is full.'));
  const imported = await runCommandLine(t, ['import', 'a.ndjson'], { files, catalogue });
  assert.deepEqual(outcome(imported), [1, '', 'orchestration-gateway import: The disk is full.\n']);
  const exported = await runCommandLine(t, ['export'], { files, catalogue });
  const said = 'orchestration-gateway export: The disk is full.\nThe printed catalogue is incomplete.\n';
  assert.deepEqual(outcome(exported), [1, '{"_id":"a"}\n', said]);
});

test('import reports why a file cannot be read', async (t) => {
  for (const [file, why] of [
    ['none.ndjson', 'none.ndjson does not exist'],
    ['.', '. is a directory'],
  ] as const) {
    const { code, out, err } = await runCommandLine(t, ['import', file], { files, catalogue: openCatalogue() });
    assert.deepEqual([code, out, err], [1, '', `orchestration-gateway import: ${why}\n`]);
  }
});

test('an import that fails after a transaction names the last line stored', async (t) => {
  const failing: StoredCatalogue = {
    ...openCatalogue(),
    async import(_source, { onStored }) {
      onStored(20_000);
      onStored(40_003);
      throw new GatewayError('store-unavailable', 'The disk is full.');
    },
  };
  const imported = await runCommandLine(t, ['import', 'a.ndjson'], { files, catalogue: failing });
  const prefix = 'orchestration-gateway import:';
  assert.deepEqual(outcome(imported), [1, '', `${prefix} The disk is full.\n${prefix} the lines up to 40003 are stored\n`]);
});

test('an interrupted import reports that nothing was changed', async (t) => {
  const interruption = new AbortController();
  const never = new Readable({ read() {} });
  const run = runCommandLine(t, ['import', '-'], {
    files,
    stdin: never,
    catalogue: openCatalogue(),
    untilInterrupted: (work) => work(interruption.signal),
  });
  setImmediate(() => interruption.abort());
  assert.deepEqual(outcome(await run), [1, '', 'orchestration-gateway import: interrupted; nothing was changed\n']);
});

test('export prints one document per line, and their number to standard error', async (t) => {
  const exported = await runCommandLine(t, ['export'], { files, catalogue: openCatalogue() });
  assert.deepEqual(outcome(exported), [0, '{"_id":"a"}\n{"_id":"b"}\n{"_id":"c"}\n', 'exported 3 automations\n']);
});

test('export shows its progress if the output is a file or a pipe, but not if it is a terminal', async (t) => {
  const given = { files, catalogue: openCatalogue(), progressColumns: 80 };
  const { err } = await runCommandLine(t, ['export'], given);
  assert.match(err.replaceAll(erased, '<erased>'), /^<erased>2 lines, 0\.0 MiB, .* MiB\/s<erased>exported 3 automations\n$/u);
  const onScreen = await runCommandLine(t, ['export'], { ...given, printsToTerminal: true });
  assert.equal(onScreen.err, 'exported 3 automations\n');
});

test('export succeeds when its reader closes the pipe, and reports any other incomplete output', async (t) => {
  const failingWith = (code: string): Writable =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });
  const left = await runCommandLine(t, ['export'], { files, catalogue: openCatalogue(), stdout: failingWith('EPIPE') });
  assert.deepEqual([left.code, left.err], [0, '']);
  const full = await runCommandLine(t, ['export'], { files, catalogue: openCatalogue(), stdout: failingWith('ENOSPC') });
  assert.equal(full.code, 1);
  assert.match(full.err, /standard output cannot be written \(ENOSPC\)\nThe printed catalogue is incomplete\.\n$/u);
});

test('import and export touch no store without a valid configuration', async (t) => {
  for (const argv of [['import', 'a.ndjson'], ['export']]) {
    const { code, out, err } = await runCommandLine(t, argv, { files: { 'gateway.yaml': 'x: 1' } });
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /gateway\.yaml:1:1: x: is unknown/u);
  }
});

test('an import that cannot print its result has succeeded', async (t) => {
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error('full'), { code: 'ENOSPC' })) });
  const { code, err } = await runCommandLine(t, ['import', 'a.ndjson'], { files, catalogue: openCatalogue(), stdout });
  const said = 'imported 1,234 automations, 1 of them replaced; standard output cannot be written (ENOSPC)';
  assert.deepEqual([code, err], [0, `orchestration-gateway import: ${said}\n${taking}`]);
});
