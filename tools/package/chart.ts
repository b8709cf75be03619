import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tarOptions } from './archive.ts';
import { program, type Recipe } from './recipe.ts';
import { output } from './shell.ts';

/** orchestration-gateway-chart-VERSION.tgz, with the dashboards and alerts of deploy/. */
export async function makeChart(recipe: Recipe): Promise<void> {
  const { root, work, version } = recipe;
  const chart = join(work, 'chart', program);
  await cp(join(root, 'deploy/helm'), chart, { recursive: true });
  await cp(join(root, 'deploy/grafana'), join(chart, 'files/grafana'), { recursive: true });
  await cp(join(root, 'deploy/prometheus'), join(chart, 'files/prometheus'), { recursive: true });
  const file = join(chart, 'Chart.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('0.0.0', version));
  const packed = join(recipe.output, `${program}-chart-${version}.tgz`);
  await output('tar', [...tarOptions(recipe), '-I', 'gzip -n', '-cf', packed, program], { cwd: join(work, 'chart') });
}
