import { httpUrl } from '../shapes/address-shapes.ts';
import { label } from '../shapes/scalar-shapes.ts';
import { basicPasswordFault, secret } from '../shapes/secret-shape.ts';
import { mapping, optional, required } from '../shapes/shape.ts';
import { oauth2Source } from './oauth2-source.ts';
import type { SourceKind } from './secret-reading.ts';

const members = mapping({
  oauth2: required(
    mapping({
      tokenUrl: required(
        httpUrl({ example: 'https://login.example.net/token', path: true, query: true }),
        'Token endpoint, for the client credentials grant.',
      ),
      clientId: required(label({ type: 'client id', example: 'gateway' }), 'Client id at the token endpoint.'),
      clientSecret: required(secret({ refuse: basicPasswordFault }), 'Client secret at the token endpoint.'),
      scope: optional(label({ type: 'scope', example: 'tickets', atMost: 1024 }), 'Scope of the token.'),
    }),
    'The client.',
  ),
});

/** For secrets of workflows. */
export const oauth2Kind: SourceKind = {
  form: '{ oauth2: { tokenUrl, clientId, clientSecret } }',
  async source({ place }) {
    const read = await members.read(place);
    return read === undefined ? undefined : oauth2Source(read.oauth2, place.node.json);
  },
};
