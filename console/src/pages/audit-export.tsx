import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListAuditData } from '#client/gateway.ts';
import { Action } from '../parts/action.tsx';
import { gateway } from '../session.ts';

type Query = NonNullable<ListAuditData['query']>;

const pageSize = 1_000;
/** Records of a file: the browser holds them until it has saved it. */
const most = 100_000;

/** Saves the records that fit the filters as a file, one JSON object a line. */
export function AuditExport({ filters }: { readonly filters: Query }): JSX.Element {
  const [saved, setSaved] = useState('');
  const leave = useRef(new AbortController());
  useEffect(() => () => leave.current.abort(), []);
  const save = async (): Promise<void> => {
    const { signal } = leave.current;
    const parts: string[] = [];
    let count = 0;
    let cursor: string | undefined;
    do {
      const query = { ...filters, limit: pageSize, ...(cursor !== undefined && { cursor }) };
      const { value } = await gateway.listAudit({ query, signal });
      parts.push(...value.list.map((record) => `${JSON.stringify(record)}\n`));
      count += value.list.length;
      cursor = value.cursor;
      setSaved(`${count.toLocaleString('en')} records so far…`);
    } while (cursor !== undefined && count < most);
    saveFile(new Blob(parts, { type: 'application/x-ndjson' }), 'audit.ndjson');
    const rest =
      cursor === undefined ? '' : ' Older records are not in it: set the range, or use orchestration-gateway audit list.';
    setSaved(`${count.toLocaleString('en')} records saved.${rest}`);
  };
  return (
    <div class="buttons">
      <Action act={save}>Save these records as NDJSON</Action>
      <span role="status">{saved}</span>
    </div>
  );
}

function saveFile(content: Blob, name: string): void {
  const href = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
