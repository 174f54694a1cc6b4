/** A whole stack of a test's own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Stack, type StackOptions, startStack } from "../../infra/local/stack.ts";
import { stackEnv } from "./global-setup.ts";

/** Starts it with these variables on an empty data folder, which is removed when it stops. */
export async function startTestStack(
  variables: Readonly<Record<string, string>> = {},
  how: Omit<StackOptions, "env"> = {},
): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const stack = await startStack({ env: stackEnv(folder, variables), ...how }).catch((error: unknown) => {
    remove();
    throw error;
  });
  return {
    ...stack,
    stop: async () => {
      await stack.stop();
      remove();
    },
  };
}
