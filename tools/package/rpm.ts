import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeServiceTree } from './deb.ts';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

/** orchestration-gateway-VERSION-1.x86_64.rpm. */
export async function makeRpm(recipe: Recipe): Promise<void> {
  const { root, work, version, epoch, isQuick } = recipe;
  const system = await makeServiceTree(recipe, 'rpm-tree');
  const spec = (await readFile(join(root, 'deploy/rpm', `${program}.spec`), 'utf8'))
    .replace('@VERSION@', version)
    .replace('@PAYLOAD@', isQuick ? 'w1.zstdio' : 'w9.xzdio');
  await writeFile(join(work, `${program}.spec`), spec);
  const top = join(work, 'rpm');
  const defined = [
    `_topdir ${top}`,
    `_tree ${system}`,
    `_dbpath ${work}/rpmdb`,
    'source_date_epoch_from_changelog 0',
    'use_source_date_epoch_as_buildtime 1',
    'clamp_mtime_to_source_date_epoch 1',
    '_buildhost localhost',
  ];
  const args = defined.flatMap((text) => ['--define', text]);
  await output('rpmbuild', ['-bb', '--target', rpmArchitecture(), ...args, join(work, `${program}.spec`)], {
    env: { SOURCE_DATE_EPOCH: epoch },
  });
  const file = `${program}-${version}-1.${rpmArchitecture()}.rpm`;
  await copyFile(join(top, 'RPMS', rpmArchitecture(), file), join(recipe.output, file));
}

function rpmArchitecture(): string {
  return process.arch === 'arm64' ? 'aarch64' : 'x86_64';
}
