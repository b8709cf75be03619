import type { CustomRoleOptions } from '#access/rights/access-options.ts';
import type { KnownAdapters } from '#adapters/known-adapters.ts';
import type { ApprovalCatalogue } from '#approvals/approval-catalogue.ts';
import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import type { RateLimit } from '#calls/rate-limit.ts';
import type { TakePreview } from '#previews/preview.ts';
import type { RunCatalogue } from '#runs/catalogue/run-catalogue.ts';
import type { EntranceNeeds } from './call-entrance.ts';

/** What the tools work with. A reload replaces what the functions answer. */
export interface AgentNeeds extends EntranceNeeds {
  readonly adapters: () => KnownAdapters;
  readonly isReadAction: (adapter: string, path: string) => boolean;
  readonly customRoles: () => readonly CustomRoleOptions[];
  /** `mcp.readOnly`. */
  readonly isReadOnly: () => boolean;
  readonly rateLimit: () => RateLimit | undefined;
  readonly preview: TakePreview;
  /** By the rights that count over MCP. */
  readonly automations: Pick<AutomationCatalogue, 'list'>;
  /** By the rights that count over MCP. */
  readonly runs: Pick<RunCatalogue, 'cancel' | 'lastRuns' | 'read' | 'start'>;
  /** By the rights that count over MCP. */
  readonly approvals: Pick<ApprovalCatalogue, 'list' | 'read'>;
  /** Where people decide about an approval. */
  readonly linkOf: (approval: string) => string;
}
