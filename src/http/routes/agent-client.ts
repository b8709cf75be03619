import { Type } from '#base/json-schema.ts';

/** In records and approvals. */
export const agentClient = Type.Optional(
  Type.Object(
    { name: Type.String(), version: Type.Optional(Type.String()) },
    {
      additionalProperties: false,
      title: 'AgentClient',
      description: 'Of a call over MCP: the program of the client, as it names itself.',
    },
  ),
);
