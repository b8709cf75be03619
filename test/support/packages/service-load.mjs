// A far side and four callers: each call has a number, and none is sent again once it may have left. Counts the answers in /result/answered.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const arrived = new Map();
async function answer(request, response) {
  let body = '';
  for await (const part of request) body += part;
  const { number } = JSON.parse(body);
  arrived.set(number, (arrived.get(number) ?? 0) + 1);
  // systemd hands the token on: LoadCredential.
  if (request.headers.authorization !== 'Bearer a-token-of-the-far-side') faults.push(`${number}: another token`);
  await sleep(300);
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
}

const server = createServer((request, response) => void answer(request, response));
server.listen(9000, '127.0.0.1');

const answered = new Set();
const faults = [];
let next = 0;
const stopping = new AbortController();
process.on('SIGTERM', () => stopping.abort());
const authorization = `Basic ${Buffer.from(`admin:${process.env['PASSWORD']}`).toString('base64')}`;

async function call(number) {
  const response = await fetch('http://127.0.0.1:3000/orchestrator_manager/restAction/far', {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ params: { path: '/act', accept: 'application/json' }, body: { number } }),
  });
  const text = await response.text();
  if (response.status === 200) answered.add(number);
  else faults.push(`${number}: ${response.status} ${text}`);
  writeFileSync('/result/answered', `${answered.size}\n`);
}

async function caller() {
  while (!stopping.signal.aborted) {
    const number = next++;
    try {
      await call(number);
    } catch (error) {
      const code = error.cause?.code ?? error.message;
      // The gateway is away between two versions. A new connection that is refused has sent nothing.
      if (code !== 'ECONNREFUSED' && arrived.has(number)) faults.push(`${number}: ${code}`);
      await sleep(100);
    }
  }
}
await Promise.all([caller(), caller(), caller(), caller()]);
const twice = [...arrived].filter(([, times]) => times > 1).length;
const lost = [...arrived].filter(([number]) => !answered.has(number)).length;
console.log(JSON.stringify({ answered: answered.size, arrived: arrived.size, twice, lost, faults }));
process.exit(twice + lost + faults.length === 0 && answered.size > 20 ? 0 : 1);
