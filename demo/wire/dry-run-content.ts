import type { DataObject } from '../model/data-tree.ts';
import { deviceNamed } from '../model/device.ts';
import { type Difference, differencesByDevice } from '../model/difference.ts';
import { commandLines, curlyText, editXml } from './difference-text.ts';
import type { Content, ContentBuilder } from './document.ts';

/** The three forms in which NSO shows the effect of a change. */
export type OutFormat = 'native' | 'cli' | 'xml';

/** A difference in the requested form; `root` has the NED of each device. Native shows only changes of devices. */
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
