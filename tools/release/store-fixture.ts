import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { createGateway } from '../../client/src/gateway.ts';

const fixturePassword = 'the-password-of-a-fixture';

const main = resolve('src/main.ts');

/** A backup of the store of a demo in which one run has ended, one waits for approval, and one is suspended. */
export async function writeStoreFixture(target: string): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'store-fixture-'));
  const env = { ...process.env, GATEWAY_ADMIN_PASSWORD: fixturePassword };
  const demo = spawn(process.execPath, [main, 'demo'], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const baseUrl = await readyUrl(demo.stdout);
    const gateway = createGateway({ baseUrl, username: 'admin', password: fixturePassword });
    const { list } = (await gateway.listAutomations()).value;
    for (const name of ['Bring up a VPN', 'Rename a device']) {
      const automation = list.find((one) => one.name === name);
      if (automation === undefined) throw new Error(`the demo has no automation "${name}"`);
      await gateway.runAutomation({ path: { id: automation._id }, body: {} });
    }
    await until(async () => {
      const runs = (await gateway.listRuns()).value.list;
      return runs.some(({ status }) => status === 'completed') && runs.some(({ status }) => status === 'waiting');
    });
    const backup = spawn(process.execPath, [main, 'backup', 'store.backup', '--config', 'data/demo.yaml'], { cwd, env });
    const [code] = (await once(backup, 'exit')) as [number];
    if (code !== 0) throw new Error(`backup ended with ${code}`);
    rmSync(target, { force: true });
    renameSync(join(cwd, 'store.backup'), target);
  } finally {
    demo.kill('SIGTERM');
    await once(demo, 'exit');
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** The automations are stored once the calls are printed. */
async function readyUrl(stdout: Readable): Promise<string> {
  let said = '';
  stdout.on('data', (part: Buffer) => (said += part.toString()));
  await until(async () => said.includes('A query:'));
  return /^listening on (\S+)$/mu.exec(said)?.[1] ?? '';
}

async function until(happened: () => Promise<boolean>): Promise<void> {
  for (let patience = 300; !(await happened()); patience -= 1) {
    if (patience === 0) throw new Error('the runs of the fixture did not get where they should');
    await new Promise((next) => setTimeout(next, 100));
  }
}
