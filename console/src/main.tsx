import { render } from 'preact';
import { followLinks } from './address.ts';
import { App } from './app.tsx';
import { guardDrafts } from './drafts.ts';
import { keepFocus } from './focus.ts';
import { keepTime } from './frame/now.ts';
import { followTheme } from './frame/theme.ts';
import { showTips } from './frame/tips.ts';
import './style.css';

followTheme();
followLinks();
guardDrafts();
keepTime();
showTips();
const mount = document.getElementById('console');
if (mount !== null) {
  keepFocus(mount);
  render(<App />, mount);
}
