import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ChangeCall, type DryRunFormat, dryRunFormats } from '#adapters/dry-runs.ts';
import { writeDryRun } from './dry-run-request.ts';

// What leaves for a preview is a dry run in every case, and nothing else of the call changes.

const segments = [
  'restconf',
  'data',
  'operations',
  'tailf-ncs:devices',
  'device=ce0',
  'sync-to',
  're-deploy',
  'x:y',
  '',
  'sync%2Dto',
  'api',
];
const queries = [
  '',
  'dry-run',
  'dry-run=cli',
  'dry%2Drun=xml',
  'DRY-RUN=',
  'no-networking',
  'commit-queue=async',
  'a=1',
  'params=e30',
  '&',
  ';dry-run',
];
const inputs = [
  '{}',
  ' { } ',
  '{"input":{}}',
  '{"tailf-ncs:input": {"a":1.0,"a":2}}',
  '{"input":{"dry-run":{}}}',
  '{"input":{}} x',
  '{"a":1}',
  '[1]',
  '"t"',
];

const call: fc.Arbitrary<ChangeCall> = fc.record({
  method: fc.constantFrom('DELETE', 'GET', 'PATCH', 'POST', 'PUT'),
  path: fc
    .tuple(
      fc.constantFrom('', '/', 'restconf/data/', 'restconf/operations/'),
      fc.array(fc.constantFrom(...segments), { maxLength: 4 }),
      fc.constantFrom('', '/sync-to', '/tailf-ncs:sync-from'),
      fc.array(fc.constantFrom(...queries), { maxLength: 2 }),
    )
    .map(([root, path, last, query]) => `${root}${path.join('/')}${last}${query.length > 0 ? '?' : ''}${query.join('&')}`),
  contentType: fc.constantFrom('application/yang-data+json', 'application/yang-data+xml', 'application/yang-patch+json'),
  body: fc.option(
    fc.constantFrom(...inputs).map((text) => Buffer.from(text)),
    { nil: undefined },
  ),
  passedOn: fc.constantFrom({}, { 'if-match': '"1"' }, { 'x-cisco-nso-commit-params': 'e30=' }),
});

/** The parameters that a server could take for `dry-run`. */
function dryRuns(path: string): readonly string[] {
  const [, query = ''] = /^[^?]*\?(.*)$/su.exec(path) ?? [];
  return query
    .split(/[&;]/u)
    .filter((parameter) => decodeURIComponent(parameter.split('=')[0] ?? '').toLowerCase() === 'dry-run');
}

/** Holds what was written for a call to be its dry run. True where it is one of an action. */
function assertDryRun(
  asked: ChangeCall,
  written: Exclude<ReturnType<typeof writeDryRun>, { readonly none: string }>,
  format: DryRunFormat,
): boolean {
  assert.notEqual(asked.method, 'GET');
  if (written.path !== asked.path) {
    assert.ok(written.path.startsWith(asked.path));
    assert.deepEqual(dryRuns(written.path), [`dry-run=${format}`]);
    assert.equal(written.body, asked.body);
    assert.equal(written.contentType, asked.contentType);
    return false;
  }
  assert.equal(asked.method, 'POST');
  const text = written.body?.toString() ?? '';
  const [[name, input] = []] = Object.entries(JSON.parse(text) as Readonly<Record<string, { readonly 'dry-run': object }>>);
  assert.match(name ?? '', /^(?:tailf-ncs:)?input$/u);
  assert.deepEqual(input?.['dry-run'], { outformat: format });
  // Without the member the caller's bytes are left, unless there were none.
  const rest = text.replace(new RegExp(`"dry-run":\\{"outformat":"${format}"\\},?`, 'u'), '');
  const given = asked.body?.toString();
  assert.equal(rest, given === undefined || /^\s*\{\s*\}\s*$/u.test(given) ? '{"input":{}}' : given);
  return true;
}

test('a call that is written for a preview is a dry run in every case, with all of its bytes', () => {
  const seen = { action: 0, configuration: 0, none: 0 };
  fc.assert(
    fc.property(call, fc.constantFrom(...dryRunFormats), (asked, format) => {
      const written = writeDryRun(asked, format);
      if ('none' in written) {
        assert.notEqual(written.none, '');
        seen.none += 1;
      } else if (assertDryRun(asked, written, format)) seen.action += 1;
      else seen.configuration += 1;
    }),
    { numRuns: 20_000, seed: 1 },
  );
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 100, `${count} of ${what}`);
});

test('a call that already is a dry run in some spelling is not written', () => {
  fc.assert(
    fc.property(call, (asked) => {
      fc.pre(dryRuns(asked.path).length > 0);
      assert.ok('none' in writeDryRun(asked, 'native'));
    }),
    { numRuns: 2_000, seed: 1 },
  );
});

test('a POST whose body names no configuration child in its media type is not written', () => {
  const path = 'restconf/data/tailf-ncs:devices/device=ce0/tailf-ned:reboot';
  const written = (contentType: string, text: string) =>
    writeDryRun({ method: 'POST', path, contentType, body: Buffer.from(text), passedOn: {} }, 'native');
  const [json, xml] = ['application/yang-data+json', 'application/yang-data+xml'];
  for (const [contentType, text] of [
    [json, '[{"x:child":{}}]'],
    [json, '"input"'],
    [json, '\uFEFF{"x:child":{}}'],
    [xml, `<!-- ${'- '.repeat(3_000)}--><input/>`],
    [xml, '<x:input xmlns:x="u"/>'],
    [xml, '<!DOCTYPE a [<!ENTITY i "x">]><a/>'],
    [xml, '<a/><input/>'],
    [xml, '{"x:child":{}}'],
    ['text/plain', '{"x:child":{}}'],
    [json, `{"x:child":"${'a'.repeat(1_048_576)}"}`],
  ] as const)
    assert.ok('none' in written(contentType, text), text.slice(0, 60));
  for (const [contentType, text] of [
    [json, '{"x:child":{"input":1}}'],
    [xml, '<!-- input --><child xmlns="u"><input/></child>'],
  ] as const)
    assert.ok('path' in written(contentType, text), text);
});
