/**
 * An upstream that streams small events at an even pace. Each event carries the moment it was written, by the clock of this
 * process, so that whoever reads it here knows how long it was under way.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface PacedUpstream {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts it; every request gets `chunks` events, `paceMs` apart, then `[DONE]`. */
export async function startPacedUpstream(chunks: number, paceMs: number): Promise<PacedUpstream> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      void (async () => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (let at = 0; at < chunks && !response.destroyed; at += 1) {
          const choices = [{ index: 0, delta: { content: "word " } }];
          response.write(`data: ${JSON.stringify({ at: performance.now(), choices })}\n\n`);
          await pause(paceMs);
        }
        response.end("data: [DONE]\n\n");
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
