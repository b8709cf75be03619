import type { Owner } from '../owner.ts';
import { type FarHandler, type FarSide, farSide, httpReply, jsonReply } from './far-side.ts';

/** How a node answers a request for its YANG library: RFC 8525, RFC 7895, both without `tailf-ncs`, or not at all. */
export type LibraryForm = 'rfc8525' | 'rfc7895' | 'other' | 'absent' | 'hangs';

export const yang = 'application/yang-data+json';

/** A node of NSO for dry runs. `changes` counts what a server that ignores `dry-run` would have executed. */
export class NsoNode {
  readonly far: FarSide;
  library: LibraryForm;
  /** Of rule-based high availability. */
  mode = 'none';
  /** Requests that are neither a GET nor a dry run that this node honours. */
  changes = 0;
  /** What it answers to a dry run. */
  answer: FarHandler = () => jsonReply('{"dry-run-result":{"native":{}}}', { type: yang });

  constructor(far: FarSide, library: LibraryForm) {
    this.far = far;
    this.library = library;
    this.serve();
  }

  static async start(owner: Owner, library: LibraryForm): Promise<NsoNode> {
    return new NsoNode(await farSide(owner), library);
  }

  /** Forgets the recorded requests. */
  serve(): void {
    this.far.answer((request, socket) => this.#answer(request, socket));
  }

  /** Everything but reads of the YANG library and of the role. */
  get calls(): FarSide['requests'] {
    return this.far.requests.filter(({ method }) => method !== 'GET');
  }

  get libraryReads(): number {
    return this.far.requests.filter(({ target }) => target.includes('ietf-yang-library')).length;
  }

  readonly #answer: FarHandler = (request, socket) => {
    const { method, target } = request;
    if (method === 'GET') return target.includes('ietf-yang-library') ? this.#libraryAt(target) : this.#role(target);
    const knowsDryRun = this.library === 'rfc8525' || this.library === 'rfc7895';
    const asksDryRun = /[?&]dry-run=/u.test(target) || request.body.includes('"dry-run"');
    if (!knowsDryRun || !asksDryRun) this.changes += 1;
    return knowsDryRun ? this.answer(request, socket) : httpReply({ status: 204 });
  };

  #role(target: string): Buffer {
    if (!target.endsWith('high-availability/status')) return httpReply({ status: 404 });
    return jsonReply(`{"tailf-ncs:status":{"mode":"${this.mode}"}}`, { type: yang });
  }

  #libraryAt(target: string): Buffer | undefined {
    if (this.library === 'hangs') return undefined;
    if (this.library === 'absent') return httpReply({ status: 404 });
    const isNewer = target.includes(':yang-library');
    const name = this.library === 'other' ? 'example-modules' : 'tailf-ncs';
    const modules = `[{"name":"ietf-interfaces"},{"name":"${name}","revision":"2024-07-09","conformance-type":"implement"}]`;
    if (isNewer && this.library !== 'rfc7895')
      return jsonReply(`{"ietf-yang-library:yang-library":{"module-set":[{"name":"common","module":${modules}}]}}`, {
        type: yang,
      });
    if (!isNewer && this.library !== 'rfc8525')
      return jsonReply(`{"ietf-yang-library:modules-state":{"module":${modules}}}`, { type: yang });
    return httpReply({ status: 404 });
  }
}
