/** `npm start`: the whole gateway on this machine. */
import { runStack } from "./run.ts";

await runStack("workerd", process.stdout);
