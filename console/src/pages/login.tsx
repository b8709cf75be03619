import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { goTo, hrefOf, pagePlace, place } from '../address.ts';
import { failureWords, issuerName, loginHref, noticeWords } from '../issuer-login.ts';
import { useLoad } from '../load.ts';
import { useSending } from '../parts/action.tsx';
import { Input, textOf } from '../parts/field.tsx';
import { Failure } from '../parts/loading.tsx';
import { gateway, logIn, loginNotice } from '../session.ts';

/** Name and password, or an issuer. The page that was asked for opens after it. */
export function Login(): JSX.Element {
  const { isBusy, error, submit } = useSending((form) => logIn(textOf(form, 'username'), textOf(form, 'password')));
  const failure = place.value.query.get('failure') ?? '';
  return (
    <main class="login" id="main">
      <h1 tabIndex={-1}>
        <span class="mark" /> Orchestration Gateway
      </h1>
      {loginNotice.value !== '' && <p role="status">{loginNotice.value}</p>}
      {failure !== '' && error === undefined && (
        <div class="failure" role="alert">
          <p>{failureWords(failure)}</p>
        </div>
      )}
      <form aria-label="Log in" onSubmit={submit}>
        <Input label="User name" name="username" required autocomplete="username" />
        <Input label="Password" name="password" type="password" required autocomplete="current-password" />
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? 'Logging in…' : 'Log in'}
        </button>
      </form>
      {error !== undefined && <Failure error={error} />}
      <Issuers />
    </main>
  );
}

function Issuers(): JSX.Element | null {
  const { value: issuers = [] } = useLoad(async (signal) => (await gateway.listLoginIssuers({ signal })).value.list, []);
  if (issuers.length === 0) return null;
  return (
    <ul class="issuers" aria-label="Other ways to log in">
      {issuers.map((issuer) => (
        <li key={issuer}>
          <a class="button" href={loginHref(issuer, wanted())}>
            Log in with {issuerName(issuer, issuers)}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The page that was asked for, without `/console`. */
function wanted(): string {
  const { segments, query } = place.value;
  if (segments[0] !== 'login') return pagePlace();
  const to = query.get('to') ?? '';
  return to.startsWith('/') ? to : '';
}

/** The login page for a person who has logged in: it leads on, after what the person has to know of the login. */
export function LoggedIn(): JSX.Element | null {
  const notice = noticeWords(place.value.query.get('notice') ?? '');
  const next = hrefOf([]) + wanted();
  useEffect(() => {
    if (notice === undefined) goTo(next, { replace: true });
  }, []);
  if (notice === undefined) return null;
  return (
    <main class="login" id="main">
      <h1 tabIndex={-1}>
        <span class="mark" /> Orchestration Gateway
      </h1>
      <p role="status">{notice}</p>
      <a class="button" href={next}>
        Continue
      </a>
    </main>
  );
}
