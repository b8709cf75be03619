import { render } from 'preact';
import { followLinks } from './address.ts';
import { App } from './app.tsx';
import { keepFocus } from './focus.ts';
import './style.css';

followLinks();
const mount = document.getElementById('console');
if (mount !== null) {
  keepFocus(mount);
  render(<App />, mount);
}
