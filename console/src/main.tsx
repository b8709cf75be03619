import { render } from 'preact';
import { followLinks } from './address.ts';
import { App } from './app.tsx';
import './style.css';

followLinks();
const mount = document.getElementById('console');
if (mount !== null) render(<App />, mount);
