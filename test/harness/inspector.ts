/** V8's inspector of a stack's runtime, which the stack was started with (`inspect`). */
import { waitFor } from "./wait-for.ts";

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

type Inspect = (method: string, params?: object) => Promise<unknown>;

/** Connects with the worker called `name` while `work` runs. Throws when the inspector at `url` does not know that worker. */
export async function withInspector<T>(url: string, name: string, work: (send: Inspect) => Promise<T>): Promise<T> {
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
  const send: Inspect = async (method, params = {}) => {
    lastId += 1;
    const reply = Promise.withResolvers<unknown>();
    waiting.set(lastId, reply);
    socket.send(JSON.stringify({ id: lastId, method, params }));
    return await reply.promise;
  };
  try {
    await opened.promise;
    return await work(send);
  } finally {
    socket.close();
  }
}

interface HeapUsage {
  readonly usedSize: number;
  readonly embedderHeapUsedSize: number;
  readonly backingStorageSize: number;
}

/** What the objects that are in use take, the runtime's own beside them, in bytes. */
export async function keptBytes(inspectorUrl: string | null): Promise<number> {
  if (inspectorUrl === null) throw new Error("the stack has no inspector");
  return await withInspector(inspectorUrl, "gateway", async (send) => {
    const read = async (): Promise<number> => {
      await send("HeapProfiler.collectGarbage");
      const usage = (await send("Runtime.getHeapUsage")) as HeapUsage;
      return usage.usedSize + usage.embedderHeapUsedSize + usage.backingStorageSize;
    };
    // what one collection frees lets go of more
    let least = Number.POSITIVE_INFINITY;
    await waitFor(read, (bytes) => {
      const isLeast = bytes > 0.99 * least;
      least = Math.min(least, bytes);
      return isLeast;
    });
    return least;
  });
}
