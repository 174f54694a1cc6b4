/**
 * `npm run edge`: the data plane alone, on this machine. `--built <folder>` names a Worker that was bundled before
 * (infra/containers/bundle-worker.ts), so that nothing is bundled at the start. Prints one JSON object a line.
 */
import { parseArgs } from "node:util";
import { startEdge } from "./edge.ts";
import { runInForeground } from "./process/foreground.ts";
import { partLine, stackLine } from "./stack-output.ts";

const { built } = parseArgs({ options: { built: { type: "string" } } }).values;
const say = (lines: readonly string[]): void => {
  for (const line of lines) process.stdout.write(`${line}\n`);
};

await runInForeground({
  start: async (unwanted) =>
    await startEdge({ env: process.env, built, log: (part, line) => say(partLine(Date.now, part, line)), unwanted }),
  ready: ({ proxyUrl }) =>
    say(stackLine(Date.now, "ready", "The data plane is ready.", { data_plane: `${proxyUrl}/v1` })),
  stopped: () => say(stackLine(Date.now, "stopped", "The data plane has stopped.")),
});
