/** Makes a port of loopback reachable at another address, byte for byte. */
import net from "node:net";
import { type Listening, listen } from "../../../infra/local/http/listen.ts";

/** Listens at `host` and `port` (0: a free one) and passes each connection on to `to` of 127.0.0.1, with the end of either side. */
export async function forward(host: string, port: number, to: number): Promise<Listening> {
  const server = net.createServer({ allowHalfOpen: true }, (outer) => {
    const inner = net.connect({ host: "127.0.0.1", port: to, allowHalfOpen: true });
    for (const [from, into] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      from.pipe(into);
      from.on("error", () => into.destroy());
      from.on("close", () => into.destroy());
    }
  });
  return await listen(server, host, port);
}
