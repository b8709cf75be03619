import { Type } from '#base/json-schema.ts';
import { pathSchema } from '#relay/call-schemas.ts';
import { preparePreview, textArgument } from '../agent-call.ts';
import type { AgentNeeds } from '../agent-needs.ts';
import { type AgentTool, agentTool } from '../agent-tool.ts';
import { cursorIn } from '../fence.ts';
import { fencedPage, textResult } from '../tool-result.ts';
import { bodyArgument } from './change-tools.ts';
import { adapterArgument, cursorArgument } from './query-tool.ts';

export function previewTool(needs: AgentNeeds): AgentTool {
  return agentTool({
    name: 'preview_change',
    effect: 'reads',
    operations: ['preview'],
    leaves: true,
    description:
      'Ask the orchestrator what a call of orchestrator_action would change (dry run). Nothing is changed. For example method DELETE, path restconf/data/tailf-ncs:devices/device=ce0.',
    takes: {
      ...adapterArgument,
      path: pathSchema,
      method: Type.Optional(Type.Enum(['POST', 'PATCH', 'PUT', 'DELETE'], { description: 'Default POST.' })),
      ...bodyArgument,
      ...cursorArgument,
    },
    async call(given, request) {
      const cursor = cursorIn(textArgument(given, 'cursor'));
      const { call, source } = await preparePreview(given, request, needs);
      const { principal, requestId, trace, span, sourceAddress, signal, client } = request;
      const context = { principal, entrance: 'mcp', requestId, trace, span, sourceAddress, signal, client } as const;
      const preview = await needs.preview(call, context);
      const narrow = 'Preview a smaller change for less.';
      const page = (text: string) => fencedPage(Buffer.from(text), { source, cursor, narrow });
      if (preview.kind === 'none')
        return textResult('There is no preview, and nothing was changed. The reason:', ...page(preview.reason));
      if (preview.text === '') return textResult('The call would change nothing.');
      return textResult(`The call would change this (format ${preview.kind}):`, ...page(preview.text));
    },
  });
}
