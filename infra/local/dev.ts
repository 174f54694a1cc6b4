/** `npm run dev`: the same services, with `wrangler dev` executing the Worker. */
import { runStack } from "./run.ts";

await runStack("wrangler", process.stdout);
