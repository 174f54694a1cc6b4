/** How often each alert was raised, collected over a run, because the gateway lists the last 200 only. */
import type { Gateway } from "../harness/gateway.ts";

interface Logged {
  readonly key: string;
  readonly at: string;
  readonly repeats: number;
}

export class AlertLog {
  readonly #seen = new Map<string, Logged>();

  async collect(gateway: Gateway): Promise<void> {
    const { recent } = await gateway.must<{ readonly recent: readonly Logged[] }>("GET", "/alerts");
    for (const each of recent) this.#seen.set(`${each.key} ${each.at}`, each);
  }

  /** Times by key; an entry stands for its issue and its repeats. */
  times(): ReadonlyMap<string, number> {
    const times = new Map<string, number>();
    for (const { key, repeats } of this.#seen.values()) times.set(key, (times.get(key) ?? 0) + 1 + repeats);
    return times;
  }
}
