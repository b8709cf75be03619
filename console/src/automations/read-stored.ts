import { gateway } from '../session.ts';

/** An automation as the gateway has it. */
export interface StoredAutomation {
  readonly id: string;
  readonly etag: string;
  /** JSON text, with the digits of its numbers. */
  readonly text: string;
}

export async function readStored(id: string): Promise<StoredAutomation> {
  const { text, headers } = await gateway.readAutomation({ path: { id } });
  return { id, text, etag: headers.get('etag') ?? '' };
}
