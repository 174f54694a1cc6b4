/** Answers of lines of batches, as the pipeline keeps them (docs/rules/batches.md#exactly-once). */

/** The answer of a line of a batch. */
export interface LineAnswer {
  readonly status: number;
  readonly text: string;
}

/** Answers of lines of batches, by the ids of their requests. */
export interface LineAnswers {
  /** Never rejects. */
  keep(requestId: string, answer: LineAnswer): Promise<void>;
  /** Rejects when the store does not answer. */
  load(requestId: string): Promise<LineAnswer | null>;
}
