/**
 * Runs the Worker in plain workerd on this machine: bundle, configuration, process. It listens on a free loopback port,
 * anew after each start; object storage stays in its folder, and so does the socket at which other processes find the objects.
 */
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { makePrivate } from "../../../control/db/private-folder.ts";
import { type Child, type Guard, jsonLine, startChild } from "../process/child.ts";
import { bundleWorker } from "./bundle.ts";
import { cellSocket, OBJECTS_SOCKET, type ProcessRole, workerdConfig } from "./config.ts";
import { reachableUpstreams } from "./reachable.ts";

/** The path of the runtime's binary for this platform. */
const { default: binary } = createRequire(import.meta.url)("workerd") as { default: string };

/** What {@link prepareWorkerd} needs. */
export interface WorkerdOptions {
  /** Folder for the bundle and its configuration. */
  readonly folder: string;
  readonly objectsFolder: string;
  /** Text bindings of the Worker. */
  readonly bindings: Readonly<Record<string, string>>;
  /** Cells besides that of the bindings. */
  readonly moreCells: readonly string[];
  /** See {@link bundleWorker}. */
  readonly entry?: string | undefined;
  /** Whether the runtime can be looked into while it runs; it is slower then. */
  readonly inspect?: boolean | undefined;
  readonly guard: Guard;
  readonly log: (line: string) => void;
}

/** A started workerd and its loopback ports. */
export interface RunningWorkerd {
  readonly child: Child;
  readonly port: number;
  /** Those of more cells, by name. */
  readonly cellPorts: ReadonlyMap<string, number>;
  /** Where V8's inspector answers; null when nobody asked for it. */
  readonly inspectorPort: number | null;
}

/** Starts a process; `unwanted` aborts when nobody waits for it any longer. Rejects when it is not ready in time. */
export type StartWorkerd = (role: ProcessRole, unwanted: AbortSignal) => Promise<RunningWorkerd>;

/** Bundles and configures once; the answer starts a process each time it is called. Throws esbuild's BuildFailure. */
export async function prepareWorkerd(options: WorkerdOptions): Promise<StartWorkerd> {
  const { folder, objectsFolder, bindings, moreCells } = options;
  makePrivate(folder);
  makePrivate(objectsFolder);
  const bundle = await bundleWorker(false, options.entry);
  writeFileSync(join(folder, "worker.mjs"), bundle.code, { mode: 0o600 });
  const configOf = (role: ProcessRole): string => join(folder, `${role}.capnp`);
  for (const role of ["everything", "objects", "requests"] as const) {
    const text = workerdConfig({
      role,
      exports: bundle.exports,
      variables: Object.keys(bindings),
      objectsFolder,
      reachableUpstreams: reachableUpstreams(bindings),
      moreCells,
    });
    writeFileSync(configOf(role), text, { mode: 0o600 });
  }
  const { TZ, LANG, SSL_CERT_FILE } = process.env;

  return async (role, unwanted) => {
    // that of a process which was killed
    if (role === "objects") rmSync(join(folder, OBJECTS_SOCKET), { force: true });
    const sockets = role === "objects" ? ["http", "objects"] : ["http", ...moreCells.map(cellSocket)];
    const ports = new Map<unknown, number>();
    let inspectorPort: number | null = null;
    const child = await startChild(
      {
        name: "workerd",
        unwanted,
        privateFiles: true,
        command: binary,
        args: [
          "serve",
          configOf(role),
          "--control-fd=3",
          ...(options.inspect === true ? ["--inspector-addr=127.0.0.1:0"] : []),
        ],
        // the path of a socket is short, that of a folder need not be
        cwd: folder,
        env: { TZ, LANG, SSL_CERT_FILE, ...bindings },
        readyFrom: "control",
        readReady: (line) => {
          const message = jsonLine(line);
          if (message?.["event"] === "listen-inspector") inspectorPort = Number(message["port"]);
          if (message?.["event"] !== "listen") return undefined;
          ports.set(message["socket"], Number(message["port"]));
          return ports.size === sockets.length ? message : undefined;
        },
        log: options.log,
      },
      options.guard,
    );
    await child.ready;
    const cellPorts = moreCells.map((cell) => [cell, ports.get(cellSocket(cell)) ?? 0] as const);
    return { child, port: ports.get("http") ?? 0, cellPorts: new Map(cellPorts), inspectorPort };
  };
}
