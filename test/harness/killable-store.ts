/** A key-value store in a process of its own, which a test can kill. It starts again at the same address, empty. */
import { join } from "node:path";
import { ownPort } from "./own-port.ts";
import { startProgram } from "./program-process.ts";

export const STORE_TOKEN = "token";

export type KillableStore = Awaited<ReturnType<typeof startKillableStore>>;

export async function startKillableStore() {
  const start = async (port: string) => {
    const args = [join(import.meta.dirname, "redis-process.ts"), STORE_TOKEN, port];
    const program = startProgram({ command: process.execPath, args }, {}, "listening", true);
    return { program, url: String((await program.ready)["url"]) };
  };
  let { program, url } = await start(String(await ownPort()));
  return {
    url,
    /** Kills it with SIGKILL; resolves when it runs again, empty. */
    crash: async (): Promise<void> => {
      await program.end("SIGKILL");
      ({ program, url } = await start(new URL(url).port));
    },
    stop: async (): Promise<void> => void (await program.end()),
  };
}
