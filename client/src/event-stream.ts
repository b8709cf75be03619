/** One event of a stream (HTML, server-sent events). */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** The most characters that an event may have. */
const maxEventSize = 4 * 1024 ** 2;

/** The events of a stream as they arrive; comments are left out. Throws a RangeError for an event over 4 Mi characters. */
export async function* streamEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent, void, undefined> {
  const decoder = new TextDecoder();
  let waiting = '';
  for await (const piece of body) {
    waiting += decoder.decode(piece, { stream: true });
    // A CR at the end may be the first half of a CRLF.
    const blocks = waiting.split(/(?:\r\n|\n|\r(?!$|\n)){2}/u);
    waiting = blocks.pop() ?? '';
    if (waiting.length > maxEventSize) throw new RangeError('an event of the stream is too long');
    for (const block of blocks) {
      const event = eventIn(block);
      if (event !== undefined) yield event;
    }
  }
}

/** Undefined for comments alone. */
function eventIn(block: string): StreamEvent | undefined {
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/u)) {
    const [, name, value = ''] = /^([^:]+)(?:: ?(.*))?$/su.exec(line) ?? [];
    if (name === 'id') id = value;
    else if (name === 'data') data.push(value);
  }
  return data.length === 0 ? undefined : { id, data: data.join('\n') };
}
