import { join } from 'node:path';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

/** The same bytes for the same tree. */
export function tarOptions({ epoch }: Pick<Recipe, 'epoch'>): readonly string[] {
  return ['--sort=name', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r-w,a+X'];
}

/** orchestration-gateway-VERSION-linux-x64.tar.xz: unpack and run. */
export async function makeArchive(recipe: Recipe): Promise<void> {
  const name = `${program}-${recipe.version}`;
  const file = `${name}-linux-${process.arch}.tar.xz`;
  const level = recipe.isQuick ? '-0' : '-9e';
  const named = `--transform=s,^\\.,${name},S`;
  await output('tar', [...tarOptions(recipe), named, '-I', `xz -T1 ${level}`, '-cf', join(recipe.output, file), '.'], {
    cwd: recipe.tree,
  });
}
