/** What a test upstream records of a request. */
import type { IncomingMessage } from "node:http";

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
  /** Chunks of the stream written so far. */
  chunksWritten: number;
  /** The gateway closed the connection before the answer was complete. */
  cutOff: boolean;
  done: boolean;
  /** When it had arrived whole, and when its answer was completely written or its connection had ended; epoch ms. */
  readonly fromMs: number;
  untilMs: number;
}
