/** Reading a request body whole, up to a cap. Never keeps more than the cap in memory. */
import type { IncomingMessage } from "node:http";

/** The body is larger than the cap. The rest flows away unread; answer with `connection: close`. */
export class TooLarge extends Error {
  override readonly name = "TooLarge";
}

/** All bytes of the body. Throws TooLarge, or an error when the client leaves before the end. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        reject(new TooLarge(`more than ${maxBytes} bytes`));
      }
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("close", () => reject(new Error("the client left")));
    request.once("error", reject);
  });
}
