import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { AuditReader, AuditRecord } from '#audit/audit-reader.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { runCommandLine } from '../../test/support/gateway/run-command-line.ts';

const files = { 'gateway.yaml': 'access: { tokenLifetime: 2h }\n' };

/** A call that began a minute ago and has ended if `hasEnded` returns true. */
function longCall(hasEnded: () => boolean): AuditReader {
  const time = new Date(Date.now() - 60_000).toISOString();
  const record = (): AuditRecord => ({
    id: 'a/1',
    time,
    event: 'request',
    address: 'slow',
    outcome: hasEnded() ? 'ok' : undefined,
  });
  return {
    async list({ outcome, from = 0 }) {
      const all = [record()].filter(
        (each) => Date.parse(each.time) >= from && (outcome === undefined || each.outcome === outcome),
      );
      return { list: all };
    },
    verify: () => Promise.reject(new Error('this test verifies nothing')),
  };
}

for (const options of [[], ['--outcome', 'ok']]) {
  test(`audit list --follow ${options.join(' ')} prints a call that began long before, when it ends`, async (t) => {
    const [lines, interruption] = [[] as string[], new AbortController()];
    let ended = false;
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        const { outcome } = JSON.parse(chunk.toString()) as AuditRecord;
        lines.push(String(outcome));
        if (outcome === 'ok') interruption.abort();
        done();
      },
    });
    const { code } = await runCommandLine(t, ['audit', 'list', '--follow', ...options], {
      files,
      stdout,
      audit: longCall(() => ended),
      untilInterrupted: (work) => {
        ended = true;
        return work(AbortSignal.any([interruption.signal, AbortSignal.timeout(5_000)]));
      },
    });
    assert.equal(code, 0);
    assert.deepEqual(lines, options.length === 0 ? ['undefined', 'ok'] : ['ok']);
  });
}

test('audit list --follow continues after the store was away, and reports that once', async (t) => {
  const interruption = new AbortController();
  let asked = 0;
  const audit: AuditReader = {
    list: async () => {
      asked += 1;
      if (asked === 4 || asked === 5) throw new GatewayError('store-unavailable', 'The store is away.');
      if (asked > 5) interruption.abort();
      return { list: [] };
    },
    verify: () => Promise.reject(new Error('this test verifies nothing')),
  };
  const { code, err } = await runCommandLine(t, ['audit', 'list', '--follow'], {
    files,
    audit,
    untilInterrupted: (work) => work(interruption.signal),
  });
  assert.deepEqual([code, err.match(/The store is away\. The command continues when the store is back\./gu)?.length], [0, 1]);
  assert.ok(asked > 5);
});
