/**
 * A process of the bench's own that is asked over a channel and answers: the load generator and the upstream run apart from
 * each other and from the bench, so that none takes the other's time. It ends when the bench does, however that ends.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { Guard } from "../../infra/local/process/child.ts";

export interface HelperProcess<Ask, Answer, Ready> {
  readonly pid: number;
  /** What it said when it was ready. */
  readonly ready: Ready;
  /** Asks; rejects when the process answers with an error or ends. */
  ask(message: Ask): Promise<Answer>;
  close(): Promise<void>;
}

interface Message<Answer, Ready> {
  readonly id?: number;
  readonly answer?: Answer;
  readonly error?: string;
  readonly ready?: Ready;
}

/** Starts `script` (a path) and resolves when it is ready. Rejects when it ends before. */
export async function startHelper<Ask, Answer, Ready>(
  script: string,
  args: readonly string[],
  guard: Guard,
): Promise<HelperProcess<Ask, Answer, Ready>> {
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
  child.on("error", () => undefined); // its end says the same
  child.on("message", (message) => {
    const { id, answer, error, ready: said } = message as Message<Answer, Ready>;
    if (said !== undefined) ready.resolve(said);
    const asked = id === undefined ? undefined : waiting.get(id);
    if (id === undefined || asked === undefined) return;
    waiting.delete(id);
    if (error === undefined) asked.resolve(answer as Answer);
    else asked.reject(new Error(error));
  });
  let lastId = 0;
  return {
    pid,
    ready: await ready.promise,
    ask: async (ask) => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${script} has ended`);
      lastId += 1;
      const answer = Promise.withResolvers<Answer>();
      waiting.set(lastId, answer);
      child.send({ id: lastId, ask });
      return await answer.promise;
    },
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
