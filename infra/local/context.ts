/** What every part of the stack is started with. */

import type { StackConfig } from "./env.ts";
import type { Guard } from "./process/child.ts";
import type { FolderLock } from "./process/folder-lock.ts";
import type { LivenessPolicy } from "./process/liveness.ts";

/** Configuration, secrets and helpers shared by the parts of one stack. */
export interface StackContext {
  readonly config: StackConfig;
  readonly adminToken: string;
  readonly internalToken: string;
  readonly guard: Guard;
  /** Of the data folder: it names every child, so that nobody else starts on it while one is alive. */
  readonly lock: FolderLock;
  /** How every part is checked; undefined: each by its own policy. */
  readonly liveness: LivenessPolicy | undefined;
  /** A line of output of a part. */
  readonly log: (part: string, line: string) => void;
  /** The stack comes down: this part cannot be kept running. */
  readonly onGiveUp: (part: string, reason: string) => void;
}

/** Where a store answers and with what credentials. */
export interface Endpoint {
  readonly url: string;
  readonly token: string;
}
