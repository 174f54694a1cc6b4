/** `npm run compressor [-- --host 127.0.0.1 --port 8790]`: the reference compression sidecar, until it is stopped. */
import { parseArgs } from "node:util";
import { startCompressor } from "./server.ts";

const { values } = parseArgs({
  options: { host: { type: "string", default: "127.0.0.1" }, port: { type: "string", default: "8790" } },
});
const port = Number(values.port);
if (!/^\d+$/.test(values.port) || port > 65_535) {
  process.stderr.write("--port must be a number between 0 and 65535\n");
  process.exit(2);
}
const { url, close } = await startCompressor({ host: values.host, port });
process.stdout.write(`compression sidecar at ${url}: start the gateway with GATEWAY_COMPRESSOR_URL=${url}\n`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void close());
