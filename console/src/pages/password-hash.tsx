import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSending } from '../parts/action.tsx';
import { Panel, Text } from '../parts/basics.tsx';
import { Copy } from '../parts/copy.tsx';
import { Input, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { principal } from '../session.ts';
import { seenText } from '../texts.ts';

/** Makes the hash of a password in the browser, for the operator who has the configuration. The password never leaves the browser. */
export function PasswordHash(): JSX.Element {
  const [hash, setHash] = useState('');
  const { isBusy, error, submit } = useSending(async (form) => {
    setHash('');
    const password = textOf(form, 'password');
    if (password !== textOf(form, 'again')) throw new Error('The two passwords differ. Write the same one twice.');
    const { hashOf } = await import('../password-hash.ts');
    setHash(await hashOf(password));
    form.reset();
  });
  const caller = principal.value;
  const username = typeof caller === 'string' ? 'NAME' : caller.username;
  return (
    <Panel title="Your password hash">
      <p>
        Users of the configuration have a hash in place of a password. Your browser makes it: the password stays here. Send the
        line to your operator, who puts it into <code>access.users</code> and reloads.
      </p>
      <form aria-label="Make the hash" onSubmit={submit}>
        <Input label="New password" name="password" type="password" required autocomplete="new-password" />
        <Input label="The same again" name="again" type="password" required autocomplete="new-password" />
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Computing…' : 'Make the hash'}
        </button>
        {error !== undefined && <Failure error={error} />}
      </form>
      <div role="status">
        {hash !== '' && (
          <>
            <h3>
              For {seenText(username)} <Copy text={hash} what="the hash" />
            </h3>
            <Text of={hash} label="The hash" />
          </>
        )}
      </div>
    </Panel>
  );
}
