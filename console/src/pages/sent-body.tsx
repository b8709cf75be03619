import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { GatewayError } from '#client/gateway.ts';
import { useLoad } from '../load.ts';
import { Empty, Facts, Text } from '../parts/basics.tsx';
import { Failure, Loading } from '../parts/loading.tsx';
import { gateway, may } from '../session.ts';
import { indentedJson } from '../texts.ts';

/** What a change sent, as far as the audit log keeps it: asked for once a person opens it. Others than readers of bodies see nothing. */
export function SentBody({ record }: { readonly record: string }): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  if (!may('readAuditBody')) return null;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What was sent</summary>
      {isOpen && <KeptBody record={record} />}
    </details>
  );
}

/** The body that the log keeps of a change, with the digest of the whole. */
export function KeptBody({ record }: { readonly record: string }): JSX.Element {
  const loaded = useLoad(
    async (signal) => (await gateway.readAuditBody({ path: { id: record.replace('/', '_') }, signal })).value,
    [record],
  );
  if (loaded.error instanceof GatewayError && loaded.error.code === 'body-not-found') {
    return <Empty>The log keeps no body of this call: it had none, or it made room for newer ones.</Empty>;
  }
  if (loaded.error !== undefined) return <Failure error={loaded.error} again={loaded.again} />;
  return (
    <Loading of={loaded}>
      {({ body, sha256, truncated }) => (
        <>
          <Text of={truncated ? body : indentedJson(body)} label="What was sent" />
          {truncated && <p class="note">The log keeps the first 64 KiB.</p>}
          <Facts of={[['SHA-256 of the whole text', <code>{sha256}</code>]]} />
          <p class="note">Secrets are masked with ***.</p>
        </>
      )}
    </Loading>
  );
}
