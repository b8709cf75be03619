import {
  choiceParameter,
  cursorParameter,
  limitParameter,
  nameParameter,
  type ReadQuery,
  readParameters,
  readTimeCursor,
} from '#base/query-parameters.ts';
import { approvalStatuses, isApprovalId } from './approval.ts';
import type { ApprovalFilter, ApprovalPlace } from './approval-reading-store.ts';

export const approvalPageSize = { usual: 100, most: 1_000 } as const;

/** Reads the parameters of `GET /approvals`, or answers every problem. */
export function readApprovalListQuery(parameters: URLSearchParams): ReadQuery<{
  readonly filter: ApprovalFilter;
  readonly page: { readonly limit: number; readonly after: ApprovalPlace | undefined };
}> {
  const read = readParameters(parameters, {
    status: choiceParameter(approvalStatuses),
    run: nameParameter,
    limit: limitParameter(approvalPageSize.most),
    cursor: cursorParameter((text) => readTimeCursor(text, isApprovalId)),
  });
  if ('problems' in read) return read;
  const {
    limit = approvalPageSize.usual,
    cursor: after,
    ...filter
  } = read.values as ApprovalFilter & { readonly limit?: number; readonly cursor?: ApprovalPlace };
  return { query: { filter, page: { limit, after } } };
}
