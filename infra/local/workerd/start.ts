/**
 * Runs the Worker in plain workerd on this machine: bundle, configuration, process. Each start listens on another free
 * loopback port; the object storage stays in its folder, and so does the socket by which other processes reach the objects.
 */
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { makePrivate } from "../../../control/db/private-folder.ts";
import type { ClusterConfig } from "../cluster.ts";
import { type Child, type Guard, jsonLine, startChild } from "../process/child.ts";
import { writeBundle } from "./bundle.ts";
import { cellSocket, OBJECTS_SOCKET, type ProcessRole, type RuntimeCluster, workerdConfig } from "./config.ts";
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
  /** Cells in addition to the one of the bindings. */
  readonly moreCells: readonly string[];
  /** See {@link writeBundle}. */
  readonly entry?: string | undefined;
  readonly built?: string | undefined;
  /** Whether the runtime can be inspected while it runs, which makes it slower. */
  readonly inspect?: boolean | undefined;
  /** The cluster that the runtime joins; null: none. */
  readonly cluster: (RuntimeCluster & Pick<ClusterConfig, "credentials">) | null;
  readonly guard: Guard;
  /** How long a process may take until it is ready. */
  readonly startTimeoutMs: number;
  readonly log: (line: string) => void;
}

/** A started workerd and its loopback ports. */
export interface RunningWorkerd {
  readonly child: Child;
  readonly port: number;
  /** The ports of the further cells, by name. */
  readonly cellPorts: ReadonlyMap<string, number>;
  /** The address of V8's inspector; null when the inspector is not switched on. */
  readonly inspectorPort: number | null;
}

/** Starts a process; `unwanted` aborts when the process is no longer needed. Rejects when it is not ready in time. */
export type StartWorkerd = (role: ProcessRole, unwanted: AbortSignal) => Promise<RunningWorkerd>;

/**
 * Bundles and configures once; the returned function starts a process each time it is called. Throws esbuild's
 * BuildFailure.
 */
export async function prepareWorkerd(options: WorkerdOptions): Promise<StartWorkerd> {
  const { folder, objectsFolder, bindings, moreCells } = options;
  makePrivate(folder);
  makePrivate(objectsFolder);
  const bundle = await writeBundle(folder, options);
  const configOf = (role: ProcessRole): string => join(folder, `${role}.capnp`);
  for (const role of ["everything", "objects", "requests"] as const) {
    const text = workerdConfig({
      role,
      exports: bundle.exports,
      variables: Object.keys(bindings),
      objectsFolder,
      reachableUpstreams: reachableUpstreams(bindings),
      moreCells,
      cluster: options.cluster,
    });
    writeFileSync(configOf(role), text, { mode: 0o600 });
  }
  const { TZ, LANG, SSL_CERT_FILE } = process.env;
  const clusterEnv = options.cluster === null ? {} : { ...machineCredentials(), ...options.cluster.credentials };

  return async (role, unwanted) => {
    // The socket of a process that was killed.
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
          ...(options.cluster === null ? [] : ["--experimental"]),
          ...(options.inspect === true ? ["--inspector-addr=127.0.0.1:0"] : []),
        ],
        // The path of a socket must be short; the path of a folder may be long.
        cwd: folder,
        env: { TZ, LANG, SSL_CERT_FILE, ...clusterEnv, ...bindings },
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
      options.startTimeoutMs,
    );
    await child.ready;
    const cellPorts = moreCells.map((cell) => [cell, ports.get(cellSocket(cell)) ?? 0] as const);
    return { child, port: ports.get("http") ?? 0, cellPorts: new Map(cellPorts), inspectorPort };
  };
}

/**
 * The variables of this machine's environment that the runtime reads to reach a bucket: credentials of the machine's own role.
 */
function machineCredentials(): Record<string, string | undefined> {
  const isRead = (name: string): boolean =>
    /^AWS_(?:ENDPOINT_URL|REGION|ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|CREDENTIALS_FILE)$/.test(name) ||
    ["GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"].includes(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isRead(name)));
}
