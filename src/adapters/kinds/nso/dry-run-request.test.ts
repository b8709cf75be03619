import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ChangeCall, type CommitForm, type DryRunFormat, dryRunFormats } from '../../dry-runs.ts';
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
  'params=e30%3D',
  'params=eyJsYWJlbCI6MS4wfQ==',
  'params=eyJkcnktcnVuIjp7fX0=',
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
  passedOn: fc.constantFrom(
    {},
    { 'if-match': '"1"' },
    { 'x-cisco-nso-commit-params': 'e30=' },
    { 'if-match': '"1"', 'x-cisco-nso-commit-params': 'eyJuLm4iOjIuNTB9' },
  ),
});
const forms = ['params', 'parameters'] as const satisfies readonly CommitForm[];

/** The JSON texts of the parameter `params`, as a server could read them. */
function paramsIn(path: string): readonly string[] {
  const [, query = ''] = /^[^?]*\?(.*)$/su.exec(path) ?? [];
  return query
    .split(/[&;]/u)
    .filter((parameter) => parameter.startsWith('params='))
    .map((parameter) => Buffer.from(decodeURIComponent(parameter.slice('params='.length)), 'base64').toString());
}

/** Holds a change for NSO 6.7 to have the dry run next to what its caller said, in the query alone. */
function assertMerged(
  asked: ChangeCall,
  written: Exclude<ReturnType<typeof writeDryRun>, { readonly none: string }>,
  format: string,
): void {
  const [merged = '', ...others] = paramsIn(written.path);
  assert.deepEqual([others, dryRuns(written.path)], [[], []]);
  const { 'x-cisco-nso-commit-params': header, ...rest } = asked.passedOn;
  assert.deepEqual(written.passedOn, rest);
  const given = [...paramsIn(asked.path), ...(header === undefined ? [] : [Buffer.from(header, 'base64').toString()])];
  const members = [...given.map((text) => text.slice(1, -1)), `"dry-run":{"outformat":"${format}"}`];
  assert.equal(merged, `{${members.filter((member) => member !== '').join(',')}}`);
  const kept = (path: string): string => path.replaceAll(/(?<=[?&])params=[^&]*(?:&|$)/gu, '').replace(/[?&]+$/u, '');
  assert.equal(kept(written.path), kept(asked.path));
}

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
  { format, form }: { readonly format: DryRunFormat; readonly form: CommitForm },
): boolean {
  assert.notEqual(asked.method, 'GET');
  if (written.path !== asked.path) {
    assert.equal(written.body, asked.body);
    if (form === 'params') {
      assertMerged(asked, written, format);
      return false;
    }
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
  const seen = { action: 0, params: 0, parameters: 0, none: 0 };
  fc.assert(
    fc.property(call, fc.constantFrom(...dryRunFormats), fc.constantFrom(...forms), (asked, format, form) => {
      const written = writeDryRun(asked, { format, form });
      if ('none' in written) {
        assert.notEqual(written.none, '');
        seen.none += 1;
      } else if (assertDryRun(asked, written, { format, form })) seen.action += 1;
      else seen[form] += 1;
    }),
    { numRuns: 20_000, seed: 1 },
  );
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 100, `${count} of ${what}`);
});

test('a call that already is a dry run in some spelling is not written', () => {
  fc.assert(
    fc.property(call, fc.constantFrom(...forms), (asked, form) => {
      fc.pre(dryRuns(asked.path).length > 0 || paramsIn(asked.path).some((text) => text.includes('dry-run')));
      assert.ok('none' in writeDryRun(asked, { format: 'native', form }));
    }),
    { numRuns: 2_000, seed: 1 },
  );
});

test('a POST whose body names no configuration child in its media type is not written', () => {
  const path = 'restconf/data/tailf-ncs:devices/device=ce0/tailf-ned:reboot';
  const written = (contentType: string, text: string) =>
    writeDryRun(
      { method: 'POST', path, contentType, body: Buffer.from(text), passedOn: {} },
      { format: 'native', form: 'parameters' },
    );
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

test('a call whose commit parameters cannot be merged without a doubt has no dry run on NSO 6.7, and one with single ones keeps them', () => {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const written = (query: string, header?: string) =>
    writeDryRun(
      {
        method: 'PATCH',
        path: `restconf/data/x:y${query}`,
        contentType: 'application/yang-data+json',
        body: Buffer.from('{}'),
        passedOn: header === undefined ? {} : { 'x-cisco-nso-commit-params': header },
      },
      { format: 'cli', form: 'params' },
    );
  const none = (query: string, header: string | undefined, reason: RegExp): void => {
    const made = written(query, header);
    assert.match('none' in made ? made.none : made.path, reason);
  };
  const label = encode('{"label":"a"}');
  none(`?params=${label}`, label, /have label twice/u);
  none(`?params=${label}`, encode('{"tailf-ncs-commit-params:label":"b"}'), /have label twice/u);
  none(`?params=${label}&params=${label}`, undefined, /more than once/u);
  none(`?a=1;params=${label}`, undefined, /semicolon/u);
  for (const text of ['[]', '"x"', '{', '', '{"a":1}{"b":2}'])
    none(`?params=${encode(text)}`, undefined, /not base64 of one JSON object/u);
  for (const text of ['!!!!', 'e30', 'e30=e30=', 'e3-_', '////']) none('', text, /not base64 of one JSON object/u);
  none('', encode('{"tailf-ncs-commit-params:commit-params":{}}'), /a form that the gateway does not know/u);
  none('', encode('{"commit-queue":{"async":[null]}}'), /combines no dry run with commit-queue/u);
  none('', encode('{"tailf-ncs-commit-params:dry-run":{}}'), /is a dry run itself/u);
  const made = written('?no-networking&x=1', encode('{"n":18446744073709551615, "n2" : [1.0]}'));
  assert.ok('path' in made);
  assert.ok(made.path.startsWith('restconf/data/x:y?no-networking&x=1&params='));
  assert.deepEqual(paramsIn(made.path), ['{"n":18446744073709551615,"n2":[1.0],"dry-run":{"outformat":"cli"}}']);
});
