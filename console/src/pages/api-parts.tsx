import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { gatewayAddress } from '../address.ts';
import type { ApiDocument, ApiResponse, PlacedOperation } from '../openapi.ts';
import { exampleCall, headersOf } from '../openapi.ts';
import { Panel, Prose, Table } from '../parts/basics.tsx';
import { Snippets } from '../parts/reply.tsx';

const schemeNames: Readonly<Record<string, string>> = {
  basic: 'Authorization: Basic',
  bearer: 'Authorization: Bearer',
  session: 'Session cookie',
  client: 'OAuth 2.0 client',
};

/** What holds for every operation, and how a caller proves who it is. */
export function Start({ document }: { readonly document: ApiDocument }): JSX.Element {
  return (
    <>
      <Panel title="To start with">
        {document.info.description.split('\n\n').map((paragraph) => (
          <p key={paragraph}>
            <Prose>{paragraph}</Prose>
          </p>
        ))}
        <p>
          The same for programs (OpenAPI {document.openapi}):{' '}
          <a href={new URL('openapi.json', gatewayAddress).href}>openapi.json</a>
        </p>
      </Panel>
      <Panel title="Authentication">
        <p>Use one of these. Where a request has an Authorization header, its session cookie is ignored.</p>
        <Table label="Authentication" columns={['Method', 'Meaning']}>
          {Object.entries(document.components.securitySchemes).map(([name, { description }]) => (
            <tr key={name}>
              <td>{schemeNames[name] ?? name}</td>
              <td class="grow">
                <Prose>{description}</Prose>
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
    </>
  );
}

/** Every error. The `type` of an error leads to its row, `#error-CODE`. */
export function Errors({ document }: { readonly document: ApiDocument }): JSX.Element {
  useEffect(() => {
    const asked = location.hash.slice(1);
    if (asked !== '') globalThis.document.getElementById(asked)?.scrollIntoView();
  }, []);
  return (
    <Panel title="Errors">
      <p class="soft">The complete list. The type of every error links to its row here.</p>
      <Table label="All errors" columns={['Code', 'Status', 'Meaning', 'What to do']}>
        {Object.entries(document['x-error-codes']).map(([code, { statuses, title, meaning, remedy }]) => (
          <tr key={code} id={`error-${code}`} class={location.hash === `#error-${code}` ? 'asked' : undefined}>
            <td>
              <code>{code}</code>
            </td>
            <td>{statuses.join(' or ')}</td>
            <td class="grow">
              <strong>{title}.</strong> <Prose>{meaning}</Prose>
            </td>
            <td class="grow">
              <Prose>{remedy}</Prose>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

/** The call of the example, as a program would make it; nothing where a required value has no example. */
export function Example({
  document,
  placed,
}: {
  readonly document: ApiDocument;
  readonly placed: PlacedOperation;
}): JSX.Element | null {
  const call = exampleCall(document, placed);
  return call === undefined ? null : <Snippets of={call} />;
}

/** The headers of a reply. */
export function ReplyHeaders({
  document,
  reply,
}: {
  readonly document: ApiDocument;
  readonly reply: ApiResponse;
}): JSX.Element | null {
  const headers = headersOf(document, reply);
  if (headers.length === 0) return null;
  return (
    <details>
      <summary>Reply headers</summary>
      <Table label="Reply headers" columns={['Name', 'Meaning']}>
        {headers.map(([name, description]) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td class="grow">
              <Prose>{description}</Prose>
            </td>
          </tr>
        ))}
      </Table>
    </details>
  );
}

/** Who may call an operation, in a word or two. */
export function callersText(roles: 'everyone' | 'callers' | readonly string[]): string {
  if (roles === 'everyone') return 'everyone';
  return roles === 'callers' ? 'every caller' : roles.join(', ');
}
