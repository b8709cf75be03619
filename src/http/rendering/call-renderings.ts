import { isJson, isXml } from '#relay/media-type.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import { beginningOf, mediaTypeOf, textStage } from '#relay/reply-text.ts';
import { type Stage, unmarkedStage } from '#relay/stage.ts';
import { xmlRootName } from '#xml/xml-document.ts';
import { escapeStage, instanceDataStage, jsonStage } from './json-stages.ts';
import { headersAsJson, type RenderedReply, type Rendering, renderReply, textRenderings } from './rendering.ts';

/** restCall: `{ "response": <string> }`. With headers the string is itself a JSON text, which has a JSON body unchanged. */
export function renderResponse(reply: CallReply, withHeaders: boolean): RenderedReply {
  const rendered = withHeaders ? withItsHeaders(reply) : renderReply(reply, textRenderings(reply, asResponse, escapeStage));
  if (reply.address === undefined) return rendered;
  return { ...rendered, headers: [...rendered.headers, 'X-Upstream-Uri', reply.address] };
}

function asResponse(): Pick<Rendering, 'before' | 'after'> {
  return { before: '{"response":"', after: '"}' };
}

function withItsHeaders(reply: CallReply): RenderedReply {
  const before = `{"response":"${escapeText(`{"statusCode":${reply.status},"headers":${headersAsJson(reply)},"body":`)}`;
  const asString = textRenderings(
    reply,
    (base64) => ({ before: `${before}\\"`, after: `\\"${base64 ? escapeText(',"bodyEncoding":"base64"') : ''}}"}` }),
    escapeStage,
    escapeStage,
  );
  const asJson = (): Rendering | undefined => {
    const text = jsonTextStages(reply);
    return text && { before, stages: [...text, jsonStage(), escapeStage()], after: '}"}' };
  };
  return renderReply(reply, [asJson, ...asString]);
}

/** Text as the inside of a JSON string literal. */
function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The text of the body without a byte order mark; undefined where the body is not labelled JSON. */
function jsonTextStages(reply: CallReply): readonly Stage[] | undefined {
  const type = mediaTypeOf(reply);
  const text = type !== undefined && isJson(type) ? textStage(reply) : undefined;
  return text && [text(), unmarkedStage()];
}

/** restAction: `[{ "result": <body text, or the status code where there is no body> }]`. */
export function renderResult(reply: CallReply): RenderedReply {
  const before = '[{"result":"';
  const after = '"}]';
  if (reply.head.length === 0) return renderReply(reply, [() => ({ before: `${before}${reply.status}`, stages: [], after })]);
  return renderReply(
    reply,
    textRenderings(reply, () => ({ before, after }), escapeStage),
  );
}

/** restQuery: `{ "result": [ { "instance_data": { … } }, … ] }`. */
export function renderInstances(reply: CallReply): RenderedReply {
  if (reply.head.length === 0) return renderReply(reply, [() => ({ before: '{"result":[', stages: [], after: ']}' })]);
  const asInstances = (): Rendering | undefined => {
    const text = jsonTextStages(reply);
    return text && { before: '', stages: [...text, instanceDataStage()], after: '' };
  };
  const asText = textRenderings(
    reply,
    () => ({ before: `{"result":[{"instance_data":{${JSON.stringify(instanceName(reply))}:"`, after: '"}}]}' }),
    escapeStage,
  );
  return renderReply(reply, [asInstances, ...asText]);
}

function instanceName(reply: CallReply): string {
  const type = mediaTypeOf(reply);
  const root = type !== undefined && isXml(type) ? xmlRootName(beginningOf(reply)) : undefined;
  return root ?? 'content';
}

/** restRequest: `{ "statusCode", "headers", "body" }`, the body always a string; `"bodyEncoding": "base64"` where it is in base64. */
export function renderAnswer(reply: CallReply): RenderedReply {
  const before = `{"statusCode":${reply.status},"headers":${headersAsJson(reply)},"body":"`;
  return renderReply(
    reply,
    textRenderings(reply, (base64) => ({ before, after: base64 ? '","bodyEncoding":"base64"}' : '"}' }), escapeStage),
  );
}
