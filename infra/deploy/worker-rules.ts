/** The Worker's own rules for its variables, as a deployment needs them. */
import { parseEnv, workerVariables } from "../../edge/env.ts";
import type { WorkerRules } from "./check-config.ts";

export const WORKER_RULES: WorkerRules = {
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
