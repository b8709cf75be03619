import type { DataObject } from '../model/data-tree.ts';
import { deviceNamed } from '../model/device.ts';
import { type Difference, differencesByDevice } from '../model/difference.ts';
import { commandLines, curlyText, editXml } from './difference-text.ts';
import type { Content, ContentBuilder } from './document.ts';

/** The three ways in which NSO shows what a change would do. */
export type OutFormat = 'native' | 'cli' | 'xml';

/** A difference in the wanted form; `root` tells which NED each device has. Native shows only what reaches devices. */
export function dryRunContent(build: ContentBuilder, root: DataObject, all: readonly Difference[], format: OutFormat): Content {
  const local = (data: string) => [build.container('local-node', [build.leaf('data', data)])];
  if (format === 'cli') return build.container('cli', local(curlyText(all)));
  if (format === 'xml') return build.container('result-xml', local(editXml(all)));
  const devices = [...differencesByDevice(all)].map(([name, changes]) => [
    build.leaf('name', name),
    build.leaf('data', deviceNamed(root, name)?.ned === 'junos' ? editXml(changes) : commandLines(changes)),
  ]);
  return build.container('native', devices.length === 0 ? [] : [build.list('device', devices)]);
}
