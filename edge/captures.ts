/** Calls that are captured for admins, as the pipeline keeps them (docs/rules/capture.md). */
import type { Capture } from "../shared/schema/capture.ts";

export interface Captures {
  /** False: it was not kept. Never rejects. */
  keep(capture: Capture): Promise<boolean>;
}
