/** Takes a CPU profile of the Worker through the inspector of its runtime (Chrome DevTools protocol). */
import type { CpuProfile } from "./self-time.ts";

/** V8's sampling interval. */
const EVERY_US = 200;

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Profiles the worker called `name` while `work` runs. Throws when the inspector does not know that worker or refuses. */
export async function profileDuring(url: string, name: string, work: () => Promise<void>): Promise<CpuProfile> {
  const listed = (await (await fetch(`${url}/json`)).json()) as { id: string; webSocketDebuggerUrl: string }[];
  const found = listed.find(({ id }) => id === name);
  if (found === undefined) throw new Error(`the inspector knows no worker ${name}`);
  const socket = new WebSocket(found.webSocketDebuggerUrl);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const opened = Promise.withResolvers<void>();
  socket.addEventListener("open", () => opened.resolve());
  socket.addEventListener("close", () => {
    const gone = new Error("the inspector has gone");
    opened.reject(gone);
    for (const { reject } of waiting.values()) reject(gone);
  });
  socket.addEventListener("message", ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as Reply;
    const asked = id === undefined ? undefined : waiting.get(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(error.message));
  });
  let lastId = 0;
  const send = async (method: string, params: object = {}): Promise<unknown> => {
    lastId += 1;
    const reply = Promise.withResolvers<unknown>();
    waiting.set(lastId, reply);
    socket.send(JSON.stringify({ id: lastId, method, params }));
    return await reply.promise;
  };
  try {
    await opened.promise;
    await send("Profiler.enable");
    await send("Profiler.setSamplingInterval", { interval: EVERY_US });
    await send("Profiler.start");
    await work();
    return ((await send("Profiler.stop")) as { profile: CpuProfile }).profile;
  } finally {
    socket.close();
  }
}
