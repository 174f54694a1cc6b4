/** A key-value store in a process of its own, which a test can kill. It starts again at the same address, empty. */
import { join } from "node:path";
import { type Child, jsonLine, startChild, startGuard } from "../../infra/local/process/child.ts";
import { ownPort } from "./own-port.ts";

export const STORE_TOKEN = "token";

export type KillableStore = Awaited<ReturnType<typeof startKillableStore>>;

export async function startKillableStore() {
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
    /** Kills it with SIGKILL; resolves when it runs again, empty. */
    crash: async (): Promise<void> => {
      process.kill(child.pid, "SIGKILL");
      await child.exited;
      ({ child, url } = await start(new URL(url).port));
    },
    stop: async (): Promise<void> => {
      await child.stop(1000);
      guard.close();
    },
  };
}
