/**
 * The Worker's own rules for its variables. They are loaded by a computed name: the Worker's sources use the globals of its
 * runtime, which this room's compiler does not know.
 */
import { workerVariables } from "../../edge/variables.ts";
import type { WorkerRules } from "./check-config.ts";

interface WorkerEnv {
  readonly parseEnv: (variables: Readonly<Record<string, string>>) => unknown;
}

/** Reads edge/env.ts. */
export async function readWorkerRules(): Promise<WorkerRules> {
  const source = new URL("../../edge/env.ts", import.meta.url).href;
  const { parseEnv } = (await import(source)) as WorkerEnv;
  return {
    names: Object.keys(workerVariables),
    check: (variables) => {
      try {
        parseEnv(variables);
        return null;
      } catch (error) {
        return error instanceof Error ? error.message : "the Worker's variables are malformed";
      }
    },
  };
}
