/**
 * The peer: another gateway from npm, which forwards and enforces no limits. The bench installs it once, into a cache
 * inside node_modules; it is no dependency of the product. Without it (no registry, no time) a run continues and reports that
 * it is missing.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Guard, startChild } from "../../infra/local/process/child.ts";
import { ownPort } from "../harness/own-port.ts";

const PACKAGE = "@portkey-ai/gateway";
const VERSION = "1.15.2";
const FETCHED_WITHIN_MS = 30_000;
const READY_WITHIN_MS = 15_000;
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/gateway-bench");

/** Its name and version in reports. */
export const PEER = `${PACKAGE} ${VERSION}`;

const entryOf = (folder: string): string => join(folder, "node_modules", PACKAGE, "build/start-server.js");

function npm(): readonly [command: string, ...args: string[]] {
  const path = process.env["npm_execpath"];
  return path?.endsWith(".js") ? [process.execPath, path] : ["npm"];
}

/** The peer's script, installed when it is missing. Throws when it cannot be installed in time. */
async function fetched(): Promise<string> {
  const folder = join(CACHE, `peer-${VERSION}`);
  if (existsSync(entryOf(folder))) return entryOf(folder);
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const [command, ...first] = npm();
  const quiet = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
  const args = [...first, "install", "--prefix", partial, ...quiet, `${PACKAGE}@${VERSION}`];
  try {
    await promisify(execFile)(command, args, { cwd: partial, timeout: FETCHED_WITHIN_MS });
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return entryOf(folder);
}

/** Installs and starts the peer. When that fails it throws, and leaves nothing behind. */
export async function startPeer(guard: Guard) {
  const script = await fetched();
  const port = await ownPort();
  const child = await startChild(
    {
      name: "peer",
      command: process.execPath,
      args: [script, `--port=${port}`, "--headless"],
      env: { PATH: process.env["PATH"], NODE_ENV: "production" },
      readyFrom: "stdout",
      readReady: (line) => (line.includes("Ready for connections") ? {} : undefined),
      log: () => undefined,
    },
    guard,
    READY_WITHIN_MS,
  );
  const close = async (): Promise<void> => await child.stop(1000);
  await child.ready.catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return { origin: `http://127.0.0.1:${port}`, pid: child.pid, close };
}

/** The headers that give the peer the address to forward to. */
export const peerHeaders = (upstream: string): Readonly<Record<string, string>> => ({
  authorization: "Bearer none",
  "x-portkey-provider": "openai",
  "x-portkey-custom-host": upstream,
});
