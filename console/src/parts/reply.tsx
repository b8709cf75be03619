import type { JSX } from 'preact';
import { durationText } from '#client/gateway.ts';
import type { ReadReply } from '../reading.ts';
import { type SnippetCall, snippetsOf } from '../snippets.ts';
import { indentedJson } from '../texts.ts';
import { Facts, Text } from './basics.tsx';
import { Copy } from './copy.tsx';

/** A reply as it came, with the digits of its numbers. */
export function Reply({ of: { status, headers, text, isCut, milliseconds } }: { readonly of: ReadReply }): JSX.Element {
  return (
    <section class="panel" aria-label="Reply">
      <div class="panel-head">
        <h2>Reply {status}</h2>
        <span class="soft">{durationText(milliseconds)}</span>
      </div>
      <Facts of={headers} />
      {isCut && <p class="note">The reply is long. This is its begin.</p>}
      {text === '' ? (
        <p class="empty">No body.</p>
      ) : (
        <Text of={isCut ? text : indentedJson(text)} label="The body of the reply" />
      )}
    </section>
  );
}

/** The call as a program would make it. */
export function Snippets({ of }: { readonly of: SnippetCall }): JSX.Element {
  return (
    <details class="panel">
      <summary>The same call for a program</summary>
      {snippetsOf(of).map(([language, text]) => (
        <div key={language}>
          <h3>
            {language} <Copy text={text} what={language} />
          </h3>
          <Text of={text} label={language} />
        </div>
      ))}
    </details>
  );
}
