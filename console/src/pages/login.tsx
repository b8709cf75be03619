import type { JSX } from 'preact';
import { useSending } from '../parts/action.tsx';
import { Input, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { logIn, loginNotice } from '../session.ts';

/** Name and password. The page that was asked for opens after it. */
export function Login(): JSX.Element {
  const { isBusy, error, submit } = useSending((form) => logIn(textOf(form, 'username'), textOf(form, 'password')));
  return (
    <main class="login" id="main">
      <h1 tabIndex={-1}>Orchestration Gateway</h1>
      {loginNotice.value !== '' && <p role="status">{loginNotice.value}</p>}
      <form aria-label="Log in" onSubmit={submit}>
        <Input label="User name" name="username" required autocomplete="username" />
        <Input label="Password" name="password" type="password" required autocomplete="current-password" />
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Logging in…' : 'Log in'}
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
    </main>
  );
}
