import { chmod, copyFile, cp, glob, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

/** All that Node.js needs of Debian. There is no shell in the image. */
const packages = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'];
const account = 65_532;

/** orchestration-gateway-image-VERSION.tar, an OCI archive. */
export async function makeImage(recipe: Recipe): Promise<void> {
  const { root, work, version, epoch } = recipe;
  const context = join(work, 'image');
  await makeSystem(recipe, join(context, 'system'));
  await copyFile(join(root, 'deploy/container/Containerfile'), join(context, 'Containerfile'));
  const file = join(recipe.output, `${program}-image-${version}.tar`);
  await rm(file, { force: true });
  // Storage of its own, which needs no overlay file system and leaves nothing behind.
  const storage = ['--root', join(work, 'storage'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs'];
  const tag = `${program}:${version}`;
  const how = ['--isolation', 'chroot', '--timestamp', epoch, '--format', 'docker', '--build-arg', `VERSION=${version}`];
  await output('buildah', [...storage, 'bud', ...how, '--tag', tag, context]);
  await output('buildah', [...storage, 'push', tag, `docker-archive:${file}:${tag}`]);
}

async function makeSystem({ tree, work }: Recipe, system: string): Promise<void> {
  const home = join(system, 'usr/lib', program);
  const downloads = join(work, 'debs');
  await mkdir(downloads, { recursive: true });
  await mkdir(system, { recursive: true });
  for (const folder of ['usr/bin', 'usr/lib', 'usr/lib64', 'usr/sbin']) await mkdir(join(system, folder), { recursive: true });
  for (const folder of ['bin', 'lib', 'lib64', 'sbin']) await output('ln', ['-s', `usr/${folder}`, join(system, folder)]);
  const how = ['-q', '-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=5'];
  await output('apt-get', ['download', ...how, ...packages], { cwd: downloads });
  for await (const name of glob('*.deb', { cwd: downloads })) {
    // tar follows the links of /lib to /usr/lib, which dpkg-deb -x would replace.
    await output('sh', ['-c', `dpkg-deb --fsys-tarfile "${name}" | tar -x --keep-directory-symlink -C "${system}"`], {
      cwd: downloads,
    });
  }
  await cp(tree, home, { recursive: true, verbatimSymlinks: true, mode: 2 });
  const starter = join(system, 'usr/bin', program);
  await writeFile(starter, `#!/usr/lib/${program}/lib/node\nimport('/usr/lib/${program}/src/main.mjs');\n`);
  await chmod(starter, 0o755);
  await mkdir(join(system, 'etc', program), { recursive: true });
  await writeFile(
    join(system, 'etc/passwd'),
    `root:x:0:0:root:/:/nonexistent\ngateway:x:${account}:${account}::/data:/nonexistent\n`,
  );
  await writeFile(join(system, 'etc/group'), `root:x:0:\ngateway:x:${account}:\n`);
  await writeFile(join(system, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await mkdir(join(system, 'data'));
  await mkdir(join(system, 'tmp'));
  await output('chmod', ['-R', 'u+rwX,go+rX,go-w', system]);
  await output('chown', [`${account}:${account}`, join(system, 'data')]);
  await output('chmod', ['0700', join(system, 'data')]);
  await output('chmod', ['1777', join(system, 'tmp')]);
}
