import type { Owner } from '../../test/support/owner.ts';
import { type FarRequest, jsonReply, type Upstream, upstream } from '../../test/support/upstreams/upstream.ts';

/** The hosts that the kit calls: an upstream on loopback answers for them. */
const hosts = ['https://petstore.swagger.io', 'https://httpbin.org'];

/** A pet store with its OpenAPI 2.0 document, and a resource behind Basic authentication. */
export async function startPetStore(owner: Owner): Promise<Upstream> {
  const far = await upstream(owner);
  const document = JSON.stringify(swagger(far.authority));
  far.answer((request) => answerOf(request, document));
  return far;
}

/** The document with the address of the upstream instead of each host of the kit. */
export function redirected(definition: string, { url }: Upstream): string {
  return hosts.reduce((text, host) => text.replaceAll(host, url), definition);
}

function answerOf(request: FarRequest, document: string): Buffer {
  const { pathname, searchParams } = new URL(request.target, 'http://far.side');
  const [, first, ...rest] = pathname.split('/');
  if (first === 'basic-auth') {
    const [user = '', password = ''] = rest;
    const wanted = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    return request.header('authorization') === wanted
      ? jsonReply(JSON.stringify({ authenticated: true, user }))
      : jsonReply('{}', { status: 401 });
  }
  if (pathname === '/v2/swagger.json') return jsonReply(document);
  if (pathname === '/v2/pet/findByStatus') return jsonReply(JSON.stringify([petOf(1, searchParams.get('status') ?? '')]));
  const id = /^\/v2\/pet\/(\d+)$/u.exec(pathname)?.[1];
  return id === undefined
    ? jsonReply('{"message":"no such pet"}', { status: 404 })
    : jsonReply(JSON.stringify(petOf(Number(id))));
}

function petOf(id: number, status = 'available') {
  return { id, name: `Pet ${id}`, status };
}

function swagger(host: string) {
  const pet = { 200: { description: 'A pet.' } };
  return {
    swagger: '2.0',
    info: { title: 'Pet store', version: '1.0.0' },
    host,
    basePath: '/v2',
    schemes: ['http'],
    paths: {
      '/pet/findByStatus': {
        get: {
          operationId: 'findPetsByStatus',
          parameters: [{ name: 'status', in: 'query', required: true, type: 'string' }],
          responses: pet,
        },
      },
      '/pet/{petId}': {
        get: {
          operationId: 'getPetById',
          parameters: [{ name: 'petId', in: 'path', required: true, type: 'integer' }],
          responses: pet,
        },
      },
    },
  };
}
