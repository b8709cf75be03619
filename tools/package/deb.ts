import { chmod, cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

/** What the .deb and the .rpm have in common: the program, its command, its unit, a stub of its configuration. */
export async function makeServiceTree({ root, tree, work }: Recipe, name: string): Promise<string> {
  const system = join(work, name);
  const home = join(system, 'usr/lib', program);
  await mkdir(dirname(home), { recursive: true });
  await cp(tree, home, { recursive: true, verbatimSymlinks: true, mode: 2 });
  // The package depends on the library of the distribution.
  for (const file of ['libatomic.so.1', 'LICENSE.libatomic']) await rm(join(home, 'lib', file), { force: true });
  await mkdir(join(system, 'usr/bin'), { recursive: true });
  await symlink(`../lib/${program}/bin/${program}`, join(system, 'usr/bin', program));
  await place(system, `usr/lib/systemd/system/${program}.service`, join(root, `deploy/systemd/${program}.service`));
  await place(system, `usr/lib/sysusers.d/${program}.conf`, join(root, `deploy/systemd/${program}.sysusers`));
  await place(system, `etc/${program}/gateway.yaml`, join(root, 'deploy/systemd/gateway.yaml'), 0o640);
  await place(system, `usr/share/doc/${program}/gateway.example.yaml`, join(root, 'gateway.example.yaml'));
  return system;
}

async function place(system: string, name: string, from: string, mode = 0o644): Promise<void> {
  const file = join(system, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, await readFile(from));
  await chmod(file, mode);
}

/** orchestration-gateway_VERSION_amd64.deb, the same bytes twice. */
export async function makeDeb(recipe: Recipe): Promise<void> {
  const { root, epoch, isQuick, version } = recipe;
  const system = await makeServiceTree(recipe, 'deb');
  const documents = `usr/share/doc/${program}`;
  await place(system, `${documents}/copyright`, join(root, 'deploy/debian/copyright'));
  await place(system, `usr/share/lintian/overrides/${program}`, join(root, 'deploy/debian/lintian-overrides'));
  await writeFile(join(system, documents, 'changelog.gz'), gzipSync(await changelog(recipe), { level: 9 }));
  for (const script of ['postinst', 'prerm', 'postrm'])
    await place(system, `DEBIAN/${script}`, join(root, 'deploy/debian', script), 0o755);
  const architecture = (await output('dpkg', ['--print-architecture'])).trim();
  const size = (await output('du', ['-sk', '--exclude=DEBIAN', system])).split('\t', 1)[0] ?? '';
  const control = (await readFile(join(root, 'deploy/debian/control'), 'utf8'))
    .replace('@VERSION@', version)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@SIZE@', size);
  await writeFile(join(system, 'DEBIAN/control'), control);
  await writeFile(join(system, 'DEBIAN/conffiles'), `/etc/${program}/gateway.yaml\n`);
  await writeFile(join(system, 'DEBIAN/md5sums'), await digests(system));
  // The modes of a checkout follow the umask of its user.
  await output('chmod', ['-R', 'u+rwX,go+rX,go-w', join(system, 'usr')]);
  const file = `${program}_${version}_${architecture}.deb`;
  const how = ['--root-owner-group', '-Zxz', isQuick ? '-z0' : '-z9', '--build', system];
  await output('dpkg-deb', [...how, join(recipe.output, file)], { env: { SOURCE_DATE_EPOCH: epoch } });
}

async function digests(system: string): Promise<string> {
  return await output('sh', ['-c', 'find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum'], { cwd: system });
}

/** In the form of Debian. CHANGELOG.md, which is in the package too, has the text. */
async function changelog({ version, epoch }: Recipe): Promise<string> {
  const time = new Date(Number(epoch) * 1000).toUTCString().replace('GMT', '+0000');
  const maintainer = 'Orchestration Gateway <orchestration-gateway@localhost.localdomain>';
  return `${program} (${version}) stable; urgency=medium\n\n  * See /usr/lib/${program}/CHANGELOG.md.\n\n -- ${maintainer}  ${time}\n`;
}
