/** The `run: workflow` or `call: batch` task of `run` that began another run. */
export interface ParentCall {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
}

/** An item of the batch of a `call: batch` task. */
export interface BatchItem extends ParentCall {
  readonly index: number;
}

/**
 * Where a task of a run is: the indices of the loops around it, the outermost first. Before them come, for each run around its run, the
 * reference of the `run: workflow` task and the indices there. It is the same in another run of the same document.
 */
export type TaskTurn = readonly (string | number)[];
