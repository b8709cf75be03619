// Waits until the demo that writes to this file says how a query is sent, sends that query, and prints the milliseconds since the epoch.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , file] = process.argv;
const limit = Date.now() + 10 * 60_000;

function queryOf(text) {
  return /^A query:\ncurl -s -u '?([^' ]+)'? .* (http\S+) -d '(.+)'$/mu.exec(text)?.slice(1);
}

let query;
while ((query = queryOf(readFileSync(file, 'utf8'))) === undefined && Date.now() < limit) await sleep(20);
if (query === undefined) throw new Error('the demo names no query');
const [login, url, body] = query;
const headers = { authorization: `Basic ${Buffer.from(login).toString('base64')}`, 'content-type': 'application/json' };
const response = await fetch(url, { method: 'POST', headers, body });
const text = await response.text();
if (response.status !== 200 || !text.includes('ce0')) throw new Error(`${response.status} ${text}`);
console.log(`query answered at ${Date.now()}`);
