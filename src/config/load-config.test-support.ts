import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ConfigError, formatConfigProblem, type LoadedConfig, loadConfig } from './load-config.ts';

export const hash = '$argon2id$v=19$m=19456,t=2,p=1$4HejRiHLPdRxMwXvErdzdg$lItNXzQnuPFeI8MHBPPjAkprBDyM4dr+0j+JUriYZCY';
export const callers = `access:\n  users:\n    - { username: admin, passwordHash: '${hash}', roles: [admin] }\n`;

interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

export async function directory(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'config-'));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

export async function load(
  t: TestContext,
  yaml: string | Uint8Array,
  { env = {}, files = {} }: Given = {},
): Promise<LoadedConfig & { cwd: string }> {
  const cwd = await directory(t);
  for (const [name, content] of Object.entries({ ...files, 'gateway.yaml': yaml })) await writeFile(join(cwd, name), content);
  return { ...(await loadConfig({ file: 'gateway.yaml', env, cwd })), cwd };
}

/** The problems as the operator sees them. */
export async function problemsOf(t: TestContext, yaml: string | Uint8Array, given: Given = {}): Promise<readonly string[]> {
  return load(t, yaml, given).then(
    () => [],
    (error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map(formatConfigProblem);
    },
  );
}

export async function only(t: TestContext, yaml: string, expected: RegExp, given: Given = {}): Promise<void> {
  const problems = await problemsOf(t, yaml, given);
  assert.equal(problems.length, 1, problems.join('\n'));
  assert.match(problems[0] ?? '', expected);
}
