/** The values that every part of the stack is started with. */

import type { StackConfig } from "./env.ts";
import type { Guard } from "./process/child.ts";
import type { FolderLock } from "./process/folder-lock.ts";
import type { LivenessPolicy } from "./process/liveness.ts";

/** Configuration, secrets and helpers shared by the parts of one stack. */
export interface StackContext {
  readonly config: StackConfig;
  readonly adminToken: string;
  readonly internalToken: string;
  /** Accepted too; undefined: none. */
  readonly internalTokenOld: string | undefined;
  readonly guard: Guard;
  /**
   * The lock of the data folder: it names every child process, so that no other stack starts on the folder while a child is
   * alive.
   */
  readonly lock: FolderLock;
  /** How every part is checked; undefined: each part by its own policy. */
  readonly liveness: LivenessPolicy | undefined;
  /** Called with each line of output of a part. */
  readonly log: (part: string, line: string) => void;
  /** Aborts when the start of the stack is given up. */
  readonly abandoned: AbortSignal;
  /** Called when a part cannot be kept running: the stack then stops. */
  readonly onGiveUp: (part: string, reason: string) => void;
}

/** The address of a store, and its credentials. */
export interface Endpoint {
  readonly url: string;
  readonly token: string;
}
