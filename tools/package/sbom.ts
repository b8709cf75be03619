import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

interface Bom {
  readonly components: readonly object[];
}

/** orchestration-gateway-VERSION.cdx.json: CycloneDX, with Node.js, which is no package that the program imports. */
export async function makeSbom({ root, version, epoch, output: folder }: Recipe): Promise<void> {
  const file = join(folder, `${program}-${version}.cdx.json`);
  const how = ['--omit', 'dev', '--output-reproducible', '--output-format', 'JSON', '--output-file', file];
  await output(process.execPath, [join(root, 'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js'), ...how], {
    cwd: root,
    env: { SOURCE_DATE_EPOCH: epoch },
  });
  const bom = JSON.parse(await readFile(file, 'utf8')) as Bom;
  const node = {
    type: 'platform',
    name: 'node',
    version: process.versions.node,
    'bom-ref': `node@${process.versions.node}`,
    purl: `pkg:generic/node@${process.versions.node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${process.versions.node}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: 'MIT' } }],
  };
  await writeFile(file, `${JSON.stringify({ ...bom, components: [node, ...bom.components] }, undefined, 2)}\n`);
}
