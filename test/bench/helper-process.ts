/**
 * A child process of the bench that gets messages over a channel and answers them. The load generator and the upstream run
 * in separate processes, so that neither takes the other's time. A child ends when the bench ends, for whatever reason.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { Guard } from "../../infra/local/process/child.ts";

export interface HelperProcess<Input, Answer, Ready> {
  readonly pid: number;
  /** What the process reported when it was ready. */
  readonly ready: Ready;
  /** Sends a message; resolves with its answer, rejects when the process answers with an error or ends. */
  call(message: Input): Promise<Answer>;
  close(): Promise<void>;
}

interface Message<Answer, Ready> {
  readonly id?: number;
  readonly answer?: Answer;
  readonly error?: string;
  readonly ready?: Ready;
}

/** Starts `script` (a path) and resolves when it is ready. Rejects when it ends before. */
export async function startHelper<Input, Answer, Ready>(
  script: string,
  args: readonly string[],
  guard: Guard,
): Promise<HelperProcess<Input, Answer, Ready>> {
  const child = fork(script, args, { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${script} cannot be started`);
  guard.watch(pid);
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  const ready = Promise.withResolvers<Ready>();
  const exited = once(child, "exit").then(() => {
    guard.forget(pid);
    const gone = new Error(`${script} has ended`);
    ready.reject(gone);
    for (const { reject } of waiting.values()) reject(gone);
    waiting.clear();
  });
  child.on("error", () => undefined); // The end of the process reports the same.
  child.on("message", (message) => {
    const { id, answer, error, ready: said } = message as Message<Answer, Ready>;
    if (said !== undefined) ready.resolve(said);
    const waiter = id === undefined ? undefined : waiting.get(id);
    if (id === undefined || waiter === undefined) return;
    waiting.delete(id);
    if (error === undefined) waiter.resolve(answer as Answer);
    else waiter.reject(new Error(error));
  });
  let lastId = 0;
  return {
    pid,
    ready: await ready.promise,
    call: async (input) => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${script} has ended`);
      lastId += 1;
      const answer = Promise.withResolvers<Answer>();
      waiting.set(lastId, answer);
      child.send({ id: lastId, input });
      return await answer.promise;
    },
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
