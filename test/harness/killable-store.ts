/** A key-value store in a process of its own, which a test can kill. It starts again at the same address, empty. */
import { join } from "node:path";
import { type Child, jsonLine, startChild, startGuard } from "../../infra/local/process/child.ts";
import { ownPort } from "./own-port.ts";

export const STORE_TOKEN = "token";

export interface KillableStore {
  readonly url: string;
  /** Kills it with SIGKILL; resolves when it runs again, empty. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export async function startKillableStore(): Promise<KillableStore> {
  const guard = startGuard();
  const start = async (port: string): Promise<{ child: Child; url: string }> => {
    const child = await startChild(
      {
        name: "redis",
        command: process.execPath,
        args: [join(import.meta.dirname, "redis-process.ts"), STORE_TOKEN, port],
        env: { PATH: process.env["PATH"] },
        readyFrom: "stdout",
        readReady: jsonLine,
        log: () => undefined,
      },
      guard,
    );
    return { child, url: String((await child.ready)["url"]) };
  };
  let { child, url } = await start(String(await ownPort()));
  return {
    url,
    crash: async () => {
      process.kill(child.pid, "SIGKILL");
      await child.exited;
      ({ child, url } = await start(new URL(url).port));
    },
    stop: async () => {
      await child.stop(1000);
      guard.close();
    },
  };
}
