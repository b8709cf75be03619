import type { AdapterInstance } from '#adapters/adapter-instance.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { xmlRootName } from '#xml/xml-root.ts';
import type { CallContext } from './call-context.ts';
import { isJson, isXml } from './media-type.ts';
import { type OrchestratorParams, orchestratorCall, refuseErrorStatus } from './orchestrator-call.ts';
import { beginningOf } from './readable-body.ts';
import { mediaTypeOf, type RelayReply, type Rendering, renderReply, textRenderings, textStage } from './relay-reply.ts';
import { escapeStage, instanceDataStage } from './stage.ts';

/** POST /orchestrator_manager/restQuery: a GET, taken apart into instances. */
export function restQuery(options: {
  readonly adapter: AdapterInstance;
  readonly context: CallContext;
  readonly params: OrchestratorParams;
  readonly userAgent: string;
}): Promise<RelayReply> {
  return orchestratorCall({ ...options, method: 'GET', passedOn: {}, retry: 'query' }, renderInstances);
}

/** `{ "result": [ { "instance_data": { … } }, … ] }`. */
function renderInstances(reply: FarSideReply): RelayReply {
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
