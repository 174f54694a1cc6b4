/**
 * The process of `npm run deploy` at an interrupt; what a deployment does at each step is in deploy.test.ts.
 *
 * @module-tag long
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listen } from "../../infra/local/http/listen.ts";

const ROOT = join(import.meta.dirname, "../..");

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("ends a check by %s with its exit code, and wrangler with it", async (signal, exitCode) => {
  // The platform's API, which never answers.
  const server = createServer();
  const api = await listen(server, "127.0.0.1", 0);
  const variables = {
    GATEWAY_PROXY_BASE_URL: "https://gateway.example.com",
    GATEWAY_ADMIN_BASE_URL: api.url,
    GATEWAY_ADMIN_TOKEN: "admin-token-of-the-test-of-interrupts",
    GATEWAY_API_KEY: "key",
    CLOUDFLARE_API_BASE_URL: `${api.url}/client/v4`,
    CLOUDFLARE_API_TOKEN: "token-of-the-test",
  };
  const asked = new Promise<Socket>((resolve) => {
    server.on("connection", (socket) => {
      socket.on("data", (data) => {
        if (data.toString().includes("/client/v4/")) resolve(socket);
      });
    });
  });
  const args = ["infra/launch.mjs", "infra/deploy/main.ts", "--env", "production", "--model", "small", "--check"];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...variables } });
  const said: string[] = [];
  child.stdout.on("data", (data: Buffer) => said.push(data.toString()));
  // Not its exit: what it said may still be on its way then.
  const ended = once(child, "close");
  const wrangler = await asked;
  const gone = once(wrangler, "close");
  child.kill(signal);
  expect(await ended).toEqual([exitCode, null]);
  await gone;
  expect(said.join("").split("\n")).toEqual([
    "interrupted: waiting for the change in progress",
    "interrupted: nothing was uploaded",
    "",
  ]);
  await api.close();
});
