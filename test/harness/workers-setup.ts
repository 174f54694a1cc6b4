/**
 * The stack of the spec tests with three Worker processes before its objects (docs/rules/local-stack.md#several-processes).
 */
import type { TestProject } from "vitest/node";
import { setupWith } from "./global-setup.ts";

/** Starts it; returns the function that stops it and removes its folder. @exported Vitest calls it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  return await setupWith(project, { GATEWAY_WORKERS: "3" });
}
