/** A real model server as a process that a test can kill and start again on the same port. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ownPort } from "../harness/own-port.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Loading a model takes long on a busy machine; what does not serve by then never will. */
const START_MS = 280_000;

export type Command = readonly [program: string, ...args: string[]];

export class ModelServer {
  readonly url: string;
  readonly #command: Command;
  readonly #env: Readonly<Record<string, string>>;
  readonly #lines: string[] = [];
  #child: ChildProcess | undefined;

  /** A server that is ready. `command` starts it on a port. */
  static async started(
    command: (port: number) => Command,
    env: Readonly<Record<string, string>> = {},
  ): Promise<ModelServer> {
    const port = await ownPort();
    const server = new ModelServer(`http://127.0.0.1:${port}`, command(port), env);
    await server.start();
    return server;
  }

  private constructor(url: string, command: Command, env: Readonly<Record<string, string>>) {
    this.url = url;
    this.#command = command;
    this.#env = env;
  }

  /** Starts it and waits until it is healthy. Throws its last lines when it ends instead. */
  async start(): Promise<void> {
    const [program, ...args] = this.#command;
    // Its own group: a server with several processes is killed whole.
    const child = spawn(program, args, {
      env: { ...process.env, ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.#child = child;
    process.once("exit", () => killGroup(child));
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => this.#lines.push(line));
    await waitFor(
      async () => {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`the server ended: ${this.#lines.slice(-15).join(" | ")}`);
        return await fetch(`${this.url}/health`).then(
          ({ status }) => status,
          () => 0,
        );
      },
      (status) => status === 200,
      START_MS,
    );
  }

  /** Kills it, as the kernel kills one that is out of memory, and waits until it is gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    killGroup(child);
    await exited;
  }

  /** The value of a metric of its own, summed over its labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))];
    if (values.length === 0) throw new Error(`the server has no metric ${name}`);
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  }
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  process.kill(-pid, "SIGKILL");
}
