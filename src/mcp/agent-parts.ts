import { type AgentDoor, createAgentDoor } from './agent-door.ts';
import { createAgentTasks } from './tasks/task-methods.ts';
import { createWaitingCallStore, type WaitingCallStore } from './tasks/waiting-call-store.ts';
import { createWaitingCalls, type WaitingNeeds } from './tasks/waiting-calls.ts';
import { adaptersTool, automationsTool } from './tools/catalogue-tools.ts';
import { changeTools } from './tools/change-tools.ts';
import { previewTool } from './tools/preview-tool.ts';
import { queryTool } from './tools/query-tool.ts';
import { runTools } from './tools/run-tools.ts';

interface AgentParts {
  readonly door: AgentDoor;
  stop(): Promise<void>;
}

/** The tools in the order in which `tools/list` has them, with what answers their messages. */
export function createAgentParts(
  given: Omit<WaitingNeeds, 'store'> & {
    readonly database: Parameters<typeof createWaitingCallStore>[0];
    readonly version: string;
  },
): AgentParts {
  const store: WaitingCallStore = createWaitingCallStore(given.database);
  const needs = { ...given, store };
  const waiting = createWaitingCalls(needs);
  const [action, restCall] = changeTools(needs, waiting);
  const [runAutomation, getRun] = runTools(needs);
  const tools = [
    adaptersTool(needs),
    queryTool(needs),
    previewTool(needs),
    action,
    restCall,
    automationsTool(needs),
    runAutomation,
    getRun,
  ];
  const door = createAgentDoor({
    ...needs,
    tools: tools.filter((tool) => tool !== undefined),
    tasks: createAgentTasks(waiting, needs),
  });
  return {
    door,
    async stop() {
      await door.close();
      await waiting.stop();
    },
  };
}
