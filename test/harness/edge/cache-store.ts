/** A key-value store for tests of the response cache: what isolates share, under a clock of its own, with every call it got. */
import type { RedisClient } from "../../../edge/adapters/redis-client.ts";
import { StoreDown } from "../../../edge/adapters/redis-client.ts";

interface Value {
  readonly text: string;
  readonly untilMs: number;
}

type Commands = Parameters<Parameters<RedisClient["run"]>[0]>[0];

export class CacheStore implements Pick<RedisClient, "run"> {
  nowMs: number;
  isDown = false;
  /** The commands of each call: `get name` or `set name ttl`. */
  readonly calls: string[][] = [];
  readonly values = new Map<string, Value>();
  /** A call is answered when this resolves. */
  answering: Promise<void> = Promise.resolve();

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  async run<T>(work: (redis: Commands) => Promise<T>): Promise<T> {
    const commands: string[] = [];
    this.calls.push(commands);
    const sets: (() => void)[] = [];
    const pipeline = {
      set: (name: string, text: string, { ex }: { readonly ex: number }) => {
        commands.push(`set ${name} ${ex}`);
        sets.push(() => void this.values.set(name, { text, untilMs: this.nowMs + ex * 1000 }));
      },
      exec: async () => {
        await this.#answer();
        for (const set of sets) set();
        return sets.map(() => "OK");
      },
    };
    const redis = {
      mget: async (...names: string[]) => {
        commands.push(...names.map((name) => `get ${name}`));
        await this.#answer();
        return names.map((name) => this.#text(name));
      },
      pipeline: () => pipeline,
    };
    return await work(redis as unknown as Commands);
  }

  async #answer(): Promise<void> {
    await this.answering;
    if (this.isDown) throw new StoreDown("the store did not answer");
  }

  #text(name: string): string | null {
    const value = this.values.get(name);
    return value === undefined || this.nowMs >= value.untilMs ? null : value.text;
  }
}
