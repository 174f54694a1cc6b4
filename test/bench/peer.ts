/**
 * Other gateways, in exact versions. The bench installs each once, into a cache inside node_modules; none is a dependency of the
 * product. When one cannot be had (no registry, no Python, no time) a run continues and reports that it is missing.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ChildSpec, type Guard, startChild } from "../../infra/local/process/child.ts";
import { ownPort } from "../harness/own-port.ts";
import type { Load, TargetName } from "./loads.ts";
import { benchModelOf } from "./targets.ts";

const CACHE = join(import.meta.dirname, "../../node_modules/.cache/gateway-bench");
const PORTKEY = { package: "@portkey-ai/gateway", version: "1.15.2" };
const LITELLM = { package: "litellm[proxy]", version: "1.106.0" };

/** What a peer needs to start. */
interface PeerStart {
  readonly guard: Guard;
  /** A folder of the run. */
  readonly folder: string;
  /** The origin of the upstream. */
  readonly origin: string;
}

interface Started {
  readonly port: number;
  readonly child: Pick<ChildSpec, "command" | "args" | "env" | "readReady">;
  readonly headers: (load: Load) => Readonly<Record<string, string>>;
}

export interface Peer {
  readonly target: TargetName & ("peer" | "litellm");
  /** Its name and version in reports. */
  readonly title: string;
  readonly installedWithinMs: number;
  readonly readyWithinMs: number;
  /** Puts it into the empty folder, which is moved afterwards. */
  readonly install: (folder: string, within: { readonly timeout: number }) => Promise<unknown>;
  readonly started: (installed: string, start: PeerStart) => Promise<Started>;
}

const run = promisify(execFile);
const upstreamOf = (origin: string, { behaviour }: Pick<Load, "behaviour">): string => `${origin}/${behaviour}/v1`;

function npm(): readonly [command: string, ...args: string[]] {
  const path = process.env["npm_execpath"];
  return path?.endsWith(".js") ? [process.execPath, path] : ["npm"];
}

/** It checks no key, counts nothing and writes no row. Each request names its upstream. */
const portkey: Peer = {
  target: "peer",
  title: `${PORTKEY.package} ${PORTKEY.version}`,
  installedWithinMs: 30_000,
  readyWithinMs: 15_000,
  install: async (folder, within) => {
    const [command, ...first] = npm();
    const quiet = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    const args = [...first, "install", "--prefix", folder, ...quiet, `${PORTKEY.package}@${PORTKEY.version}`];
    await run(command, args, { cwd: folder, ...within });
  },
  started: async (installed, { origin }) => {
    const port = await ownPort();
    const script = join(installed, "node_modules", PORTKEY.package, "build/start-server.js");
    return {
      port,
      child: {
        command: process.execPath,
        args: [script, `--port=${port}`, "--headless"],
        env: { PATH: process.env["PATH"], NODE_ENV: "production" },
        readReady: (line) => (line.includes("Ready for connections") ? {} : undefined),
      },
      headers: (load) => ({
        authorization: "Bearer none",
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": upstreamOf(origin, load),
      }),
    };
  },
};

/** Without its database: it checks one key, keeps no budgets and no usage. */
const litellm: Peer = {
  target: "litellm",
  title: `LiteLLM ${LITELLM.version}`,
  installedWithinMs: 600_000,
  readyWithinMs: 120_000,
  install: async (folder, within) => {
    await run("python3", ["-m", "venv", folder], within);
    const words = ["-m", "pip", "install", "--quiet", `${LITELLM.package}==${LITELLM.version}`];
    await run(join(folder, "bin/python"), words, within);
  },
  started: async (installed, { folder, origin }) => {
    const port = await ownPort();
    const key = `sk-${randomUUID()}`;
    const config = join(folder, "litellm.json");
    const load = { behaviour: "plain", freshShare: null } as const;
    const model = benchModelOf(load);
    const params = { model: `openai/${model}`, api_base: upstreamOf(origin, load), api_key: "none" };
    writeFileSync(config, JSON.stringify({ model_list: [{ model_name: model, litellm_params: params }] }));
    const words = ["-m", "litellm.proxy.proxy_cli", "--config", config, "--host", "127.0.0.1", "--num_workers", "1"];
    return {
      port,
      child: {
        // it says on standard error that it is ready, and writes a line per request to the other
        command: "/bin/sh",
        args: ["-c", 'exec "$@" 2>&1 >/dev/null', "sh", join(installed, "bin/python"), ...words, "--port", `${port}`],
        env: {
          PATH: process.env["PATH"],
          HOME: folder,
          LITELLM_MASTER_KEY: key,
          LITELLM_MODE: "PRODUCTION",
          LITELLM_LOCAL_MODEL_COST_MAP: "True",
        },
        readReady: (line) => (line.includes("Uvicorn running on") ? {} : undefined),
      },
      headers: () => ({ authorization: `Bearer ${key}` }),
    };
  },
};

export const PEERS: readonly Peer[] = [portkey, litellm];

/** The folder in which the peer is installed. Throws when it cannot be installed in time. */
async function installed({ target, title, install, installedWithinMs }: Peer): Promise<string> {
  const folder = join(CACHE, `${target}-${title.split(" ").at(-1)}`);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    await install(partial, { timeout: installedWithinMs });
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Installs and starts a peer. When that fails it throws, and leaves nothing behind. */
export async function startPeer(peer: Peer, start: PeerStart) {
  const { port, child: spec, headers } = await peer.started(await installed(peer), start);
  const child = await startChild(
    { name: peer.target, ...spec, readyFrom: "stdout", log: () => undefined },
    start.guard,
    peer.readyWithinMs,
  );
  const close = async (): Promise<void> => await child.stop(1000);
  await child.ready.catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return { origin: `http://127.0.0.1:${port}`, pid: child.pid, headers, close };
}
