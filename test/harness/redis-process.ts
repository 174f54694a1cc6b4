/**
 * The embedded key-value store behind its bridge as a process of its own, so that a test can kill it with all its content.
 */

import { watchParent } from "../../infra/local/process/watch-parent.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";

const [token = "", port = "0"] = process.argv.slice(2);
const bridge = await startRedisBridge({ backend: memoryBackend(), token, port: Number(port) });
watchParent(() => process.exit(0));
process.stdout.write(`${JSON.stringify({ event: "listening", url: bridge.url })}\n`);
