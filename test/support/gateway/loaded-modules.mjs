// For `--import`. Writes what the main thread has loaded, at its end, to the file that LOADED_MODULES names. JavaScript: of a file in
// TypeScript, Node would load its compiler.
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const urls = [];
if (isMainThread) {
  registerHooks({
    load(url, context, next) {
      urls.push(url);
      return next(url, context);
    },
  });
  process.on('exit', () => writeFileSync(process.env.LOADED_MODULES, JSON.stringify({ urls, ofNode: process.moduleLoadList })));
}
