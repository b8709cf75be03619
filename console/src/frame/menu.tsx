import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { hrefOf, pagePlace, place } from '../address.ts';
import { menu } from '../pages.tsx';
import { Icon } from '../parts/icon.tsx';
import { keptRange } from '../parts/time-range.tsx';
import { logOut, principal } from '../session.ts';
import { seenText } from '../texts.ts';
import { openPalette } from './palette.tsx';
import { chooseTheme, theme, themes } from './theme.ts';

/** The navigation: on the left, and in one row with a menu on a narrow screen. */
export function Header(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [place.value]);
  return (
    <header onKeyDown={({ key }) => key === 'Escape' && setOpen(false)}>
      <div class="head">
        <a class="brand" href={hrefOf([])} aria-label="Orchestration Gateway">
          <span class="mark" />
          <span class="brand-name">Orchestration Gateway</span>
        </a>
        {typeof principal.value !== 'string' && (
          <button type="button" class="find" onClick={openPalette} aria-keyshortcuts="Control+K">
            <Icon of="search" /> <span>Find</span> <kbd>Ctrl K</kbd>
          </button>
        )}
        <button
          type="button"
          class="menu-button"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon of={isOpen ? 'close' : 'menu'} /> Menu
        </button>
      </div>
      <div id="navigation" class={isOpen ? 'drawer open' : 'drawer'}>
        <Menu />
        <Caller />
      </div>
    </header>
  );
}

function Menu(): JSX.Element {
  const [current = '', ...entry] = place.value.segments;
  return (
    <nav aria-label="Pages">
      <ul>
        {menu().map(({ name, title, icon }) => (
          <li key={name}>
            <a
              href={hrefOf(name === '' ? [] : [name], keptRange(name))}
              aria-current={currentOf(name === current, entry.length > 0)}
            >
              <Icon of={icon} />
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The list of the entry that is open is current too, but it is not the page. */
function currentOf(isSection: boolean, isEntry: boolean): 'page' | 'true' | undefined {
  if (!isSection) return undefined;
  return isEntry ? 'true' : 'page';
}

/** Who is logged in; a person who is not reads the reference of the API. */
function Caller(): JSX.Element {
  const caller = principal.value;
  if (typeof caller === 'string') {
    return (
      <div class="caller">
        <a class="button" href={hrefOf(['login'], { to: pagePlace() })}>
          Log in
        </a>
      </div>
    );
  }
  return (
    <div class="caller">
      <p class="who">
        <Icon of="person" />
        <span>
          <strong>{seenText(caller.username)}</strong> <span class="roles">{seenText(caller.roles.join(', ')) || 'no role'}</span>
        </span>
      </p>
      <div class="caller-acts">
        <select aria-label="Colours" value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value)}>
          {themes.map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
        <button type="button" onClick={() => void logOut()}>
          Log out
        </button>
      </div>
    </div>
  );
}
