import type { Owner } from '../owner.ts';
import { type FarHandler, httpReply, jsonReply, type Upstream, upstream } from './upstream.ts';

/** How a node answers a request for its YANG library: RFC 8525, RFC 7895, that of NSO 6.7, both without `tailf-ncs`, or not at all. */
export type LibraryForm = 'rfc8525' | 'rfc7895' | '6.7' | 'other' | 'absent' | 'hangs';

export const yang = 'application/yang-data+json';

/** A node of NSO for dry runs. `changes` counts what a server that ignores `dry-run` would have executed. */
export class NsoNode {
  readonly far: Upstream;
  library: LibraryForm;
  /** Of rule-based high availability. */
  mode = 'none';
  /** Requests that are neither a GET nor a dry run that this node honours. */
  changes = 0;
  /** JSON text of its rollback files. */
  files = '[]';
  /** What it answers to a dry run. */
  answer: FarHandler = () => jsonReply('{"dry-run-result":{"native":{}}}', { type: yang });

  constructor(far: Upstream, library: LibraryForm) {
    this.far = far;
    this.library = library;
    this.serve();
  }

  static async start(owner: Owner, library: LibraryForm): Promise<NsoNode> {
    return new NsoNode(await upstream(owner), library);
  }

  /** Forgets the recorded requests. */
  serve(): void {
    this.far.answer((request, socket) => this.#answer(request, socket));
  }

  /** Everything but reads of the YANG library and of the role. */
  get calls(): Upstream['requests'] {
    return this.far.requests.filter(({ method }) => method !== 'GET');
  }

  get libraryReads(): number {
    return this.far.requests.filter(({ target }) => target.includes('ietf-yang-library')).length;
  }

  readonly #answer: FarHandler = (request, socket) => {
    const { method, target } = request;
    if (method === 'GET' && target.endsWith(':rollback-files/file'))
      return jsonReply(`{"tailf-rollback:file":${this.files}}`, { type: yang });
    if (method === 'GET') return target.includes('ietf-yang-library') ? this.#libraryAt(target) : this.#role(target);
    const knowsDryRun = ['rfc8525', 'rfc7895', '6.7'].includes(this.library);
    const asksDryRun = this.#asksDryRun(target) || request.body.includes('"dry-run"');
    if (!knowsDryRun || !asksDryRun) this.changes += 1;
    return knowsDryRun ? this.answer(request, socket) : httpReply({ status: 204 });
  };

  #asksDryRun(target: string): boolean {
    if (this.library !== '6.7') return /[?&]dry-run=/u.test(target);
    const [, params = ''] = /[?&]params=([^&]*)/u.exec(target) ?? [];
    return Buffer.from(decodeURIComponent(params), 'base64').includes('"dry-run"');
  }

  #role(target: string): Buffer {
    if (!target.endsWith('high-availability/status')) return httpReply({ status: 404 });
    return jsonReply(`{"tailf-ncs:status":{"mode":"${this.mode}"}}`, { type: yang });
  }

  #libraryAt(target: string): Buffer | undefined {
    if (this.library === 'hangs') return undefined;
    if (this.library === 'absent') return httpReply({ status: 404 });
    const isNewer = target.includes(':yang-library');
    const name = this.library === 'other' ? 'example-modules' : 'tailf-ncs';
    const first = this.library === '6.7' ? 'tailf-ncs-commit-params' : 'ietf-interfaces';
    const modules = `[{"name":"${first}"},{"name":"${name}","revision":"2024-07-09","conformance-type":"implement"}]`;
    if (isNewer && this.library !== 'rfc7895')
      return jsonReply(`{"ietf-yang-library:yang-library":{"module-set":[{"name":"common","module":${modules}}]}}`, {
        type: yang,
      });
    if (!isNewer && this.library !== 'rfc8525' && this.library !== '6.7')
      return jsonReply(`{"ietf-yang-library:modules-state":{"module":${modules}}}`, { type: yang });
    return httpReply({ status: 404 });
  }
}
