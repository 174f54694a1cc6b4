/** Runs one suite with the embedded store and, where the binary is on the machine, with a real redis-server. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { conformance } from "../../../test/harness/infra/redis-conformance.ts";
import { memoryBackend } from "./memory-backend.ts";
import { realBackend } from "./real-backend.ts";

describe("embedded store", () => {
  conformance(async () => ({ backend: memoryBackend(), stop: async () => undefined }));
});

const installed = spawnSync("redis-server", ["--version"]).status === 0;

describe(
  installed ? "redis-server" : "redis-server is not on this machine: only the embedded store was held to the suite",
  () => {
    if (!installed) {
      it("answers as unavailable when nothing listens", async () => {
        const backend = realBackend("redis://127.0.0.1:1");
        await expect(backend.call(["PING"])).rejects.toMatchObject({ name: "RedisUnavailable" });
        await backend.close();
      });
      return;
    }
    conformance(async () => {
      const directory = mkdtempSync(join(tmpdir(), "redis-conformance-"));
      const socket = join(directory, "redis.sock");
      const args = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory];
      const server = spawn("redis-server", args, { stdio: "ignore" });
      const backend = realBackend(socket);
      const stop = async () => {
        const exited = once(server, "exit");
        server.kill("SIGKILL");
        await exited;
        rmSync(directory, { recursive: true });
      };
      try {
        await vi.waitFor(() => backend.call(["PING"]), { timeout: 20_000 });
      } catch (error) {
        await stop();
        throw error;
      }
      return { backend, stop };
    });
  },
);
