/** `npm run load` as a person runs it: an error about an unwritable plot comes before the load. */
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listen } from "../local/http/listen.ts";

it("sends nothing when the plot cannot be written", async () => {
  let requests = 0;
  const server = await listen(
    createServer((_, response) => {
      requests += 1;
      response.writeHead(401).end();
    }),
    "127.0.0.1",
    0,
  );
  const words = ["--url", server.url, "--key", "sk", "--model", "m", "--svg"];
  const run = async (path: string): Promise<readonly [code: number, said: string]> =>
    await new Promise((resolve) => {
      execFile(process.execPath, [join(import.meta.dirname, "main.ts"), ...words, path], (error, _, err) =>
        resolve([Number(error?.code ?? 0), err]),
      );
    });
  const path = join(tmpdir(), "no-such-folder-of-gateway", "plot.svg");
  expect(await run(path)).toEqual([2, `--svg ${path} cannot be written (ENOENT)\n`]);
  expect(await run(tmpdir())).toEqual([2, `--svg ${tmpdir()} cannot be written (EISDIR)\n`]);
  expect(requests).toBe(0);
  await server.close();
});
