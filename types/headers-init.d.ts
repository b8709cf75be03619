/** A name of the DOM in the types of @modelcontextprotocol/sdk, which tests import. */
type HeadersInit = ConstructorParameters<typeof Headers>[0];
