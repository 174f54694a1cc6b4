/**
 * The servers that jobs run: probes and warm-up requests (docs/rules/provisioner.md#probes). The addresses come from the
 * scheduler and are checked like every upstream's.
 */
import type { SsrfPolicy } from "../../shared/network/ssrf.ts";
import { upstreamUrl } from "../../shared/network/upstream-url.ts";
import { modelTypeOf, probeCall } from "../health/probe-calls.ts";
import { fetchStatus } from "../kernel/outbound/bounded-fetch.ts";
import type { Spec } from "./core/job-object.ts";
import type { ProbeTarget } from "./core/probe-targets.ts";
import type { ServersPort } from "./ports.ts";

/** How many replicas are probed at once: a tick in which none of a thousand answers lasts some ten timeouts. */
const AT_ONCE = 100;

interface JobServersOptions {
  readonly policy: SsrfPolicy;
  readonly healthTimeoutMs: number;
  /** 0: no warm-up. */
  readonly warmUpTimeoutMs: number;
}

export class JobServers implements ServersPort {
  readonly #options: JobServersOptions;
  readonly #ended = new AbortController();

  constructor(options: JobServersOptions) {
    this.#options = options;
  }

  async probe(targets: readonly ProbeTarget[]): Promise<ReadonlyMap<string, string | null>> {
    const found = new Map<string, string | null>();
    const waiting = targets.values();
    const work = async (): Promise<void> => {
      for (const target of waiting) found.set(target.replicaId, await this.#passing(target));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return found;
  }

  warmUp({ model_type, upstream_model }: Spec, apiBase: string): void {
    const { warmUpTimeoutMs, policy } = this.#options;
    const call = probeCall(modelTypeOf(model_type), upstream_model);
    if (warmUpTimeoutMs === 0 || call === null || !("json" in call)) return;
    const headers = { "content-type": "application/json" };
    const url = upstreamUrl(apiBase, call.path, "");
    const request = { url, headers, policy, timeoutMs: warmUpTimeoutMs, signal: this.#ended.signal };
    // nobody waits for it: a server that does not like it serves its first request a little later
    fetchStatus(request, { body: JSON.stringify(call.json) }).catch(() => undefined);
  }

  /** Gives up warm-ups that are under way. */
  end(): void {
    this.#ended.abort();
  }

  async #passing({ path, current, others }: ProbeTarget): Promise<string | null> {
    if (current !== null && (await this.#passes(current, path))) return current;
    const results = await Promise.all(others.map(async (address) => await this.#passes(address, path)));
    return others.find((_, index) => results[index]) ?? null;
  }

  async #passes(address: string, path: string): Promise<boolean> {
    const { policy, healthTimeoutMs } = this.#options;
    try {
      const status = await fetchStatus({ url: `http://${address}${path}`, timeoutMs: healthTimeoutMs, policy });
      return status >= 200 && status < 300;
    } catch {
      return false;
    }
  }
}
