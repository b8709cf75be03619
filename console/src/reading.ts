/** The begin of a reply: a large one is never held whole. */
export interface ReadReply {
  readonly status: number;
  /** `Content-Type`, and what the gateway says of the upstream. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  /** True where the reply is longer than `text`. */
  readonly isCut: boolean;
  /** From the call to the last byte that was read. */
  readonly milliseconds: number;
}

/** Bytes of a reply that the console reads. */
const limit = 256 * 1024;

const shownHeaders = [
  'content-type',
  'x-upstream-status',
  'x-upstream-content-type',
  'x-upstream-uri',
  'x-upstream-body-encoding',
  'x-request-id',
  'idempotency-replayed',
  'etag',
  'location',
];

/** Reads a reply up to a limit, and leaves the rest. */
export async function readReply(call: () => Promise<Response>): Promise<ReadReply> {
  const begin = performance.now();
  const response = await call();
  const { text, isCut } = await readText(response);
  return {
    status: response.status,
    headers: shownHeaders.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
    text,
    isCut,
    milliseconds: performance.now() - begin,
  };
}

async function readText({ body }: Response): Promise<{ readonly text: string; readonly isCut: boolean }> {
  if (body === null) return { text: '', isCut: false };
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), isCut: false };
    length += value.length;
    text += decoder.decode(value, { stream: true });
    if (length <= limit) continue;
    await reader.cancel();
    return { text: text.slice(0, limit), isCut: true };
  }
}
