import type { CallReply } from '#relay/relayed-call.ts';
import { headersForCaller, upstreamHeaders } from '#relay/reply-headers.ts';
import { textStage } from '#relay/reply-text.ts';
import { base64Stage, type Stage, stagedBody } from '#relay/stage.ts';

/** An upstream's reply as JSON in UTF-8, with status 200. Where `rest` is undefined, `head` is the whole body and is written at once. */
export interface RenderedReply {
  readonly kind: 'relayed';
  /** Name, value, name, value …; without Content-Type and Content-Length. */
  readonly headers: readonly string[];
  readonly head: Buffer;
  /**
   * Throws where the upstream's reply has a fault: the gateway's reply is then aborted, never completed. A chunk is valid until the
   * next one is requested.
   */
  readonly rest: AsyncIterable<Buffer> | undefined;
}

/** One way to write an upstream's body into the gateway's JSON. */
export interface Rendering {
  readonly before: string;
  readonly stages: readonly Stage[];
  readonly after: string;
  readonly base64?: true;
}

/** Makes a rendering; undefined where the reply's own headers exclude it. */
type Candidate = () => Rendering | undefined;

/** Writes a reply by the first rendering that accepts it (see `stagedBody`). */
export function renderReply(reply: CallReply, candidates: readonly Candidate[]): RenderedReply {
  const { chosen, head, rest } = stagedBody(reply, candidates);
  const headers = upstreamHeaders(reply, chosen.base64 === true);
  const parts = [Buffer.from(chosen.before), head];
  if (rest === undefined) parts.push(Buffer.from(chosen.after));
  return { kind: 'relayed', headers, head: Buffer.concat(parts), rest: rest && append(rest, chosen.after) };
}

async function* append(rest: AsyncIterable<Buffer>, after: string): AsyncGenerator<Buffer, void, undefined> {
  yield* rest;
  if (after !== '') yield Buffer.from(after);
}

/** Renders text by its charset, or else as base64; `quote` writes the JSON around it. */
export function textRenderings(
  reply: CallReply,
  quote: (base64: boolean) => { readonly before: string; readonly after: string },
  ...afterText: readonly (() => Stage)[]
): readonly Candidate[] {
  const asText = (): Rendering | undefined => {
    const text = textStage(reply);
    return text && { ...quote(false), stages: [text(), ...afterText.map((stage) => stage())] };
  };
  return [asText, () => ({ ...quote(true), stages: [base64Stage()], base64: true })];
}

/** The upstream's headers as the JSON text of an object. */
export function headersAsJson(reply: CallReply): string {
  return JSON.stringify(headersForCaller(reply));
}
