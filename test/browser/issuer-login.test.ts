// suite: long

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createLoginCookie } from '../../src/access/issuers/login-binding.ts';
import { type Gateway, startGateway } from '../support/gateway/start-gateway.ts';
import { until } from '../support/until.ts';
import { audience } from '../support/upstreams/identity-provider.ts';
import { consoleClientId, type LoginProvider, loginProvider } from '../support/upstreams/login-provider.ts';
import { axeFindings } from './axe.ts';
import { noChromium, startChromium } from './chromium.ts';

// The login by an issuer in a real browser (docs/guides/console.md). `localhost` and 127.0.0.1 are different sites for it.

describe('a person without a session', { skip: noChromium }, () => {
  let provider: LoginProvider;
  let gateway: Gateway;
  let browser: Browser;
  const close: (() => void | Promise<void>)[] = [];

  before(async () => {
    const owner = { after: (end: () => void | Promise<void>) => void close.push(end) };
    provider = await loginProvider(owner);
    const config = { access: { oidc: [{ issuer: provider.issuer, audience, consoleClientId }] } };
    [gateway, browser] = await Promise.all([startGateway(owner, { config }), startChromium(owner)]);
  });
  after(async () => {
    for (const end of close.toReversed()) await end();
  });

  test('logs in at the page of an issuer, and gets to the page that was asked for', async () => {
    provider.person = { sub: 's1', preferred_username: 'ann', roles: ['readonly'] };
    const context = await browser.newContext();
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(`http://localhost:${gateway.port}/console/automations?q=x`);
    const { host } = new URL(provider.issuer);
    const link = page.getByRole('link', { name: `Log in with ${host}` });
    await link.waitFor();
    assert.deepEqual(await axeFindings(page), []);
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Log in here' }).click();
    await page.waitForURL(`http://localhost:${gateway.port}/console/automations?q=x`);
    await page.getByText('ann', { exact: true }).waitFor();
    assert.equal(await page.locator('h1').innerText(), 'Automations');
    const session = (await context.cookies()).find(({ name }) => name === 'orchestration_gateway_session');
    assert.deepEqual([session?.httpOnly, session?.sameSite, session?.path], [true, 'Strict', '/']);
    assert.deepEqual(errors, []);
    await context.close();
  });

  test('reads words of the console where the login fails, and goes on to the page after another login', async () => {
    provider.person = { sub: 's1', preferred_username: 'ann', nonce: 'of another login' };
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://localhost:${gateway.port}/console/api/whoami`);
    await page.getByRole('banner').getByRole('link', { name: 'Log in', exact: true }).click();
    await page.getByRole('link', { name: /^Log in with/u }).click();
    await page.getByRole('button', { name: 'Log in here' }).click();
    await page.waitForURL(/\/console\/login\?failure=not-valid&to=%2Fapi%2Fwhoami$/u);
    assert.match(await page.getByRole('alert').innerText(), /^The gateway does not accept the answer of the login service\./u);
    assert.deepEqual(await axeFindings(page), []);
    provider.person = { sub: 's1', preferred_username: 'ann' };
    await page.getByRole('link', { name: /^Log in with/u }).click();
    await page.getByRole('button', { name: 'Log in here' }).click();
    await page.waitForURL(`http://localhost:${gateway.port}/console/api/whoami`);
    await page.getByText('no role').waitFor();
    await context.close();
  });

  test('logs in in two tabs at the same time, and each gets to its own page', async () => {
    provider.person = { sub: 's1', preferred_username: 'ann', roles: ['readonly'] };
    const context = await browser.newContext();
    const first = await tabAtIssuer(context, 'automations');
    const second = await tabAtIssuer(context, 'workflows');
    for (const { tab, page } of [second, first]) {
      await tab.getByRole('button', { name: 'Log in here' }).click();
      await tab.waitForURL(`http://localhost:${gateway.port}/console/${page}`);
      await tab.getByText('ann', { exact: true }).waitFor();
    }
    await context.close();
  });

  test('reads that the login took too long where its cookie is gone, and gets to the page after another one', async () => {
    provider.person = { sub: 's1', preferred_username: 'ann', roles: ['readonly'] };
    const context = await browser.newContext();
    const { tab } = await tabAtIssuer(context, 'automations');
    // What the browser does after ten minutes.
    await context.clearCookies({ name: 'orchestration_gateway_login' });
    await tab.getByRole('button', { name: 'Log in here' }).click();
    assert.match(await tab.getByRole('alert').innerText(), /began it too long ago. Log in again\.$/u);
    assert.deepEqual(await axeFindings(tab), []);
    await tab.getByRole('link', { name: /^Log in with/u }).click();
    await tab.getByRole('button', { name: 'Log in here' }).click();
    await tab.getByText('ann', { exact: true }).waitFor();
    await context.close();
  });

  test('reads that a login took longer than ten minutes, where the browser has the cookie of a later one', async () => {
    const context = await browser.newContext();
    const { tab } = await tabAtIssuer(context, 'automations');
    const cookies = (await context.cookies(`http://localhost:${gateway.port}/login/oidc`)).map(
      ({ name, value }) => `${name}=${value}`,
    );
    const binding = createLoginCookie({ secure: false, path: '/login/oidc' }).read(cookies.join('; '));
    const state = binding?.seal({ id: 'of an hour ago', issuer: provider.issuer, to: '/automations', expiresAt: Date.now() - 1 });
    await tab.goto(`http://localhost:${gateway.port}/login/oidc/callback?code=any&state=${state}`);
    await tab.waitForURL(/\/console\/login\?failure=expired&to=%2Fautomations$/u);
    assert.equal(await tab.getByRole('alert').innerText(), 'The login took longer than ten minutes. Log in again.');
    await tab.getByRole('link', { name: /^Log in with/u }).waitFor();
    await context.close();
  });

  /** A tab that shows the page of the issuer, after a person began a login. */
  async function tabAtIssuer(context: BrowserContext, page: string): Promise<{ readonly tab: Page; readonly page: string }> {
    const tab = await context.newPage();
    await tab.goto(`http://localhost:${gateway.port}/console/${page}`);
    await tab.getByRole('link', { name: /^Log in with/u }).click();
    await tab.getByRole('button', { name: 'Log in here' }).waitFor();
    return { tab, page };
  }

  test('reads the reference of the API at /docs: the error of a type, and an operation with its example', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://localhost:${gateway.port}/docs#error-outcome-unknown`);
    await page.waitForURL(/\/console\/api#error-outcome-unknown$/u);
    const row = page.locator('#error-outcome-unknown');
    await row.waitFor();
    await until('the row in sight', async () =>
      row.evaluate((element) => element.getBoundingClientRect().top >= 0 && element.getBoundingClientRect().top < innerHeight),
    );
    assert.deepEqual(await page.locator('nav a').allInnerTexts(), ['API']);
    assert.deepEqual(await axeFindings(page), []);
    await page.getByLabel('Contains').fill('restaction');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'restAction', exact: true }).click();
    await page.getByText('The same call for a program').click();
    const shown = await page.locator('main').innerText();
    assert.match(shown, /curl -X POST .*\/orchestrator_manager\/restAction\/Local%20NSO/u);
    assert.match(shown, /Log in to try it\./u);
    assert.match(shown, /X-Upstream-Status|Reply headers/u);
    assert.equal(await page.getByRole('form', { name: 'Try it' }).count(), 0);
    assert.deepEqual(await axeFindings(page), []);
    await page.goto(`http://localhost:${gateway.port}/console/api/healthz`);
    await page.getByText('Try it').click();
    await page.getByRole('button', { name: 'Send GET' }).click();
    await page.getByRole('group', { name: 'The body of the reply' }).waitFor();
    await context.close();
  });
});
