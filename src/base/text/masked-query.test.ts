import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withMaskedQuery } from './masked-query.ts';

test('values of unknown parameters and parameters without "=" are masked', () => {
  assert.equal(withMaskedQuery('a/b?token=x&y&&k='), 'a/b?token=***&***&&k=***');
  assert.equal(withMaskedQuery('a/b'), 'a/b');
  assert.equal(withMaskedQuery('a?token=x', 'REDACTED'), 'a?token=REDACTED');
});

test('RESTCONF query parameters and NSO commit options with values of their own kind are shown', () => {
  const params = Buffer.from('{"dry-run":{"outformat":"native"},"comment":"ticket 7"}').toString('base64url');
  for (const shown of [
    'dry-run',
    'dry-run=native',
    'dry-run=xml&dry-run-reverse',
    'limit=10&offset=20&depth=unbounded',
    'depth=3&content=nonconfig&with-defaults=report-all',
    'fields=a:device(name;address)/b%3Bc',
    'no-networking&no-overwrite=true&no-out-of-sync-check&no-revision-drop&no-deploy&reconcile=keep-non-service-config',
    'commit-queue=async&commit-queue-tag=change-17&commit-queue-timeout=30&commit-queue-error-option=rollback-on-error',
    'commit-queue-atomic=false&commit-queue-block-others&commit-queue-lock&use-lsa&no-lsa',
    'rollback-comment=for%20ticket+7&rollback-label=ticket-7&rollback-id=3&trace-id=7f',
    `params=${params}`,
  ])
    assert.equal(withMaskedQuery(`data/x?${shown}`), `data/x?${shown}`);
});

test('a value that a known parameter cannot have is masked', () => {
  const other = Buffer.from('{"password":"s3cret"}').toString('base64');
  for (const [given, shown] of [
    ['content=the%20whole%20message', 'content=***'],
    ['limit=s3cret', 'limit=***'],
    ['depth=', 'depth=***'],
    ['limit', '***'],
    ['dry-run=hunter2', 'dry-run=***'],
    ['fields=a%20b', 'fields=***'],
    [`params=${other}`, 'params=***'],
    ['params=bm9uc2Vuc2U', 'params=***'],
    ['Dry-Run=native', 'Dry-Run=***'],
    ['__proto__=1&constructor', '__proto__=***&***'],
  ] as const)
    assert.equal(withMaskedQuery(`x?${given}`), `x?${shown}`);
});
