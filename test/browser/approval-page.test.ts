import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalCaller, people } from '../support/approvals/approval-caller.ts';
import { farSide } from '../support/far-sides/far-side.ts';
import { startGateway } from '../support/gateway/start-gateway.ts';
import { noChromium, startChromium } from './chromium.ts';
import { openPage } from './open-page.ts';

test('the page of an approval shows the whole body, and each invisible character in what callers wrote', {
  skip: noChromium,
}, async (t) => {
  const far = await farSide(t);
  const gateway = await startGateway(t, {
    users: [...people],
    config: {
      outbound: { allow: [far.authority] },
      approvals: [{ name: 'writes', when: { methods: ['POST'] }, approvers: { roles: ['admin'] } }],
    },
  });
  const { send, needed } = approvalCaller(() => gateway);
  const body = { filler: 'x'.repeat(300_000), hidden: 'a\u3164b\u2800c\u00add\u034fe', last: 'the end' };
  const call = { uri: `${far.url}/x`, verb: 'POST', user: 'a\u3164', password: 'p', responseHeaders: false, body };
  const id = needed(await send('ann', 'POST', '/tools/restCall', call, { 'Approval-Reason': 'because' }));
  const page = await openPage(await startChromium(t), gateway.url, `/approvals/${id}`, { role: 'admin' });
  const shown = page.getByRole('group', { name: 'The call' });
  await shown.waitFor();
  const text = (await shown.textContent()) ?? '';
  assert.ok(text.includes(body.filler));
  assert.match(text, /"hidden": "a⟨U\+3164⟩b⟨U\+2800⟩c⟨U\+00AD⟩d⟨U\+034F⟩e",\s+"last": "the end"\s+\}$/u);
  assert.match((await page.locator('dl').allTextContents()).join(), /a⟨U\+3164⟩/u);
  assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /The first [\d,]+ of/u);
});
