/** A real model server as a process that a test can kill and start again on the same port. */
import { ownPort } from "../harness/own-port.ts";
import { startProcess } from "../harness/program-process.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Loading a model takes long on a busy machine; what does not serve by then never will. */
const START_MS = 280_000;

export type Command = readonly [program: string, ...args: string[]];

export class ModelServer {
  readonly url: string;
  readonly #command: Command;
  readonly #env: Readonly<Record<string, string>>;
  #running: ReturnType<typeof startProcess> | undefined;

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

  /** Starts it and waits until it is healthy. Rejects with its last lines when it ends instead. */
  async start(): Promise<void> {
    const [program, ...args] = this.#command;
    // Its own group: a server with several processes is killed whole.
    const how = { env: { ...process.env, ...this.#env }, detached: true };
    const running = startProcess(program, args, how, () => undefined);
    this.#running = running;
    void running.exited.then(() => (this.#running = undefined));
    process.once("exit", () => this.#kill());
    const status = async () => await fetch(`${this.url}/health`).catch(() => null);
    await Promise.race([waitFor(status, (answer) => answer?.status === 200, START_MS), running.ready]);
  }

  /** Kills it, as the kernel kills one that is out of memory, and waits until it is gone. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#kill();
    await running?.exited;
  }

  #kill(): void {
    if (this.#running !== undefined) process.kill(-this.#running.pid, "SIGKILL");
  }

  /** The value of a metric of its own, summed over its labels. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))];
    if (values.length === 0) throw new Error(`the server has no metric ${name}`);
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  }
}
