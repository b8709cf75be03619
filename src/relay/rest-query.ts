import type { FarSideReply } from '#outbound/outbound-call.ts';
import { xmlRootName } from '#xml/xml-root.ts';
import { isJson, isXml } from './media-type.ts';
import { refuseErrorStatus } from './orchestrator-errors.ts';
import { beginningOf } from './readable-body.ts';
import { mediaTypeOf, type RelayReply, type Rendering, renderReply, textRenderings, textStage } from './relay-reply.ts';
import { escapeStage, instanceDataStage } from './stage.ts';

/** `{ "result": [ { "instance_data": { … } }, … ] }`. */
export function renderInstances(reply: FarSideReply): RelayReply {
  refuseErrorStatus(reply);
  if (reply.head.length === 0) return renderReply(reply, [() => ({ before: '{"result":[', stages: [], after: ']}' })]);
  const asText = textRenderings(
    reply,
    () => ({ before: `{"result":[{"instance_data":{${JSON.stringify(instanceName(reply))}:"`, after: '"}}]}' }),
    escapeStage,
  );
  return renderReply(reply, [() => asInstances(reply), ...asText]);
}

function asInstances(reply: FarSideReply): Rendering | undefined {
  const type = mediaTypeOf(reply);
  const text = textStage(reply);
  if (type === undefined || text === undefined || !isJson(type)) return undefined;
  return { before: '', stages: [text(), instanceDataStage()], after: '' };
}

function instanceName(reply: FarSideReply): string {
  const type = mediaTypeOf(reply);
  const root = type !== undefined && isXml(type) ? xmlRootName(beginningOf(reply)) : undefined;
  return root ?? 'content';
}
